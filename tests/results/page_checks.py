"""A strict reader of pages: what is open must be closed, ids are unique, nothing is loaded, dots lie inside."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "hr", "img"}
SVG_SINGLE = {"line", "rect", "circle", "polyline", "polygon"}


class Page(HTMLParser):
    """The elements of a page, its text by section, and its plots."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._section = ""
        self._box: list[float] = []
        self.outside: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"
        assert len(set(self.ids)) == len(self.ids)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._note(tag, values)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self._section = str(values["class"])
        if tag == "svg":
            self._box = [float(v) for v in str(values["viewbox"]).split()]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self._section] = self.texts.get(self._section, "") + data

    def _note(self, tag: str, values: dict[str, str | None]) -> None:
        self.tags.append((tag, values))
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "circle":
            x, y = float(str(values["cx"])), float(str(values["cy"]))
            if not (0 <= x <= self._box[2] and 0 <= y <= self._box[3]):
                self.outside.append((tag, values))

    def dots(self) -> list[dict[str, str | None]]:
        """Points of scatter plots."""
        return [values for tag, values in self.tags if tag == "circle" and values.get("data-trial")]

    def sections(self) -> list[str]:
        return [str(values["class"]) for tag, values in self.tags if tag == "section"]

    def loaded(self) -> list[str]:
        """Addresses that a browser would fetch."""
        names = ("src", "href", "action", "data", "poster")
        found = [str(values[name]) for _, values in self.tags for name in names if values.get(name)]
        return [address for address in found if not address.startswith("#") and address != "data:,"]
