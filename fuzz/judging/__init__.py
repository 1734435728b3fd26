"""From values to verdicts: ladder, certificates, regions, and the rows that say so."""
