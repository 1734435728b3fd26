"""Target: backend, device, dtype, options; its canonical spelling and the parser of what a user types."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from fuzz.backends import BACKENDS, backend
from fuzz.backends.base import Implementation, Unsupported
from fuzz.errors import UserError, unknown
from strategies.contract import ContractError
from strategies.precision import PRECISIONS, DType

_FORM = re.compile(r"(?P<backend>[A-Za-z_][\w-]*)(?::(?P<device>[\w:.-]+))?(?:\[(?P<options>[^\[\]]*)\])?")


class Target(Struct, frozen=True, order=True):
    """Where and how an operator runs. `options` holds only values that differ from the declared defaults."""

    backend: str
    device: str
    dtype: DType
    options: tuple[tuple[str, str], ...] = ()

    def spelling(self, home: DType) -> str:
        """Canonical spelling, e.g. `jax:cpu[mode=eager]`; the dtype is named only where it is not `home`."""
        shown = dict(self.options)
        if self.dtype != home:
            shown["dtype"] = self.dtype
        inside = ",".join(f"{key}={value}" for key, value in sorted(shown.items()))
        return f"{self.backend}:{self.device}" + (f"[{inside}]" if inside else "")

    def all_options(self) -> dict[str, str]:
        """Every declared option with its value."""
        return {spec.name: spec.default for spec in backend(self.backend).options} | dict(self.options)

    def without(self, options: Collection[str]) -> Target:
        """The target with these options at their defaults."""
        kept = tuple((key, value) for key, value in self.options if key not in options)
        return structs.replace(self, options=kept)

    def endangers(self) -> bool:
        """Whether its kernels may write where they should not."""
        return bool(self.options) and backend(self.backend).endangers(dict(self.options))

    def require_device(self) -> None:
        """UserError when the device is not present. Imports the library only for another device than the default."""
        found = backend(self.backend)
        if self.device != found.default_device and self.device not in found.devices():
            raise UserError(f"{self.backend} has no device {self.device} here: it has {', '.join(found.devices())}")

    def implementation(self, operator: str) -> Implementation:
        """The formulation this target runs; Unsupported when the backend has none in this dtype."""
        offered = backend(self.backend).offered(operator)
        if not offered:
            raise Unsupported(backend(self.backend).lacks(operator))
        wanted = dict(self.options).get("impl", offered[0].name)
        named = [implementation for implementation in offered if implementation.name == wanted]
        if not named:
            names = ", ".join(dict.fromkeys(implementation.name for implementation in offered))
            raise Unsupported(f"{self.backend} has no formulation {wanted!r} of {operator}: it has {names}")
        for implementation in named:
            if self.dtype in implementation.dtypes:
                return implementation
        raise Unsupported(f"{named[0].source} does not accept {self.dtype}")


def split_targets(text: str) -> list[str]:
    """Split `a,b[x=1,y=2],c` at commas outside brackets."""
    parts = re.split(r",(?![^\[]*\])", text)
    return [part.strip() for part in parts if part.strip()]


def parse_target(text: str, dtype: DType) -> Target:
    """The target a user spelled; UserError for an unknown backend, device form, option or value."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UserError(
            f"cannot read target {text!r}: write backend, backend:device or backend:device[option=value,...]"
        )
    found = backend(match["backend"])
    declared = {spec.name: spec for spec in found.options}
    options: dict[str, str] = {}
    named: set[str] = set()
    for item in filter(None, (match["options"] or "").split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise UserError(f"option {item!r} of target {text!r} has no value: write {key}=value")
        if key in named:
            raise UserError(f"option {key} of target {text!r} has two values: remove one")
        named.add(key)
        if key == "dtype":
            if value not in PRECISIONS:
                raise unknown("dtype", value, PRECISIONS)
            dtype = value
            continue
        if key == "impl":
            known = {i.name for offered in found.implementations.values() for i in offered}
            if value not in known:
                raise unknown(f"formulation of {found.name}", value, known)
        elif key not in declared:
            raise unknown(f"option of {found.name}", key, [*declared, "impl", "dtype"])
        else:
            spec = declared[key]
            if spec.canonical is not None:
                try:
                    value = spec.canonical(value)
                except ContractError as error:
                    raise UserError(f"option {key} of target {text!r}: {error}") from None
            if spec.choices and value not in spec.choices:
                raise unknown(f"value of {found.name} option {key}", value, spec.choices)
            if value == spec.default:
                continue
        options[key] = value
    return Target(found.name, match["device"] or found.default_device, dtype, tuple(sorted(options.items())))


def default_targets(dtype: DType) -> tuple[list[Target], list[str]]:
    """One target per installed backend, and for each missing one the line that installs it."""
    present: list[Target] = []
    skipped: list[str] = []
    for name, found in BACKENDS.items():
        line = found.missing()
        if line is None:
            present.append(Target(name, found.default_device, dtype))
        else:
            skipped.append(f"{name} is not installed: {line}")
    return present, skipped


def require_offer(operators: Sequence[str], targets: Sequence[Target]) -> None:
    """UserError when none of `targets` offers any of `operators`: nothing could be measured."""
    reasons: dict[str, None] = {}
    for operator in operators:
        for target in targets:
            try:
                target.implementation(operator)
            except Unsupported as reason:
                reasons[str(reason)] = None
            else:
                return
    raise UserError(f"no target offers {', '.join(operators)}: {'; '.join(reasons)}; see `ulpfuzz list targets`")


def require_installed(targets: Sequence[Target]) -> None:
    """UserError with the lines that install the backends among `targets` that are missing."""
    missing = {target.backend: line for target in targets if (line := backend(target.backend).missing()) is not None}
    if missing:
        named = "; ".join(f"backend {name!r} is not installed: {line}" for name, line in missing.items())
        raise UserError(named)
