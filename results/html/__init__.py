"""One self-contained page of HTML about campaigns: no network, no font, style or script from elsewhere."""
