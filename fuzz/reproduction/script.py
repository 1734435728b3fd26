"""The text of a stand-alone script: imports, inputs, constants, `compute`, and one comparison."""

from __future__ import annotations

import itertools
import keyword
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Array
from fuzz.backends.spelling import Spelling
from fuzz.reproduction import literals
from fuzz.reproduction.checks import Check

WIDTH = 110
CPU = '''
def cpu():
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
'''
SUBPROCESS = """
    if len(sys.argv) > 1 and sys.argv[1] == CALL:
        compute({arguments})
        print(RETURNED, flush=True)
        sys.exit(0)
"""


class Text(Struct, frozen=True):
    """A script in pieces, from which the test and the report are made, too."""

    title: str
    spelling: Spelling
    inputs: Mapping[str, Array]
    dtype: str
    check: Check
    beside: str = ""
    """Name of the .npz file that holds what is too large for the script."""
    unchanged: tuple[str, ...] = ()
    """Statements of a second function, without what may not change a bit; empty where the check compares no two."""
    note: str = ""
    """Said in the docstring, where the script is not what one would expect."""
    about: str = "The same without what may not change a bit."
    """What the second function does."""

    def script(self) -> str:
        """Exits with 1 while the defect is there, with 0 once it is gone."""
        tail = [
            'if __name__ == "__main__":',
            *(SUBPROCESS.format(arguments=self._arguments()).strip("\n").splitlines() if self.check.subprocess else ()),
            f"    print({self._versions()})",
            "    found = examine()",
            f'    print("DEFECT:" if found else "gone:", {_string(self.title)})',
            "    sys.exit(1 if found else 0)",
        ]
        docstring = [
            *textwrap.wrap(f"{self.check.claim}.", WIDTH),
            "",
            f"Needs {self._needs()}. Exits with 1 while the defect is there, with 0 once it is gone.",
            *([self.note] if self.note else []),
        ]
        parts = ['"""' + _docstring("\n".join(docstring)) + '\n"""', self._imports(("platform", "sys"))]
        return self._joined([*parts, *self._middle(), CPU.strip("\n"), "\n".join(tail)])

    def test(self) -> str:
        """A pytest file: one test that fails while the defect is there."""
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in self.check.name)
        tail = [
            f"# @pytest.mark.xfail(strict=True, reason={_string(self.title)})",
            f"def test_{name}():",
            f"    assert not examine(), {_string(self.check.claim)}",
        ]
        skips = [f'pytest.importorskip("{module}")' for module in self.spelling.requires]
        needed = ("platform", "sys") if self.check.subprocess else ()
        head = self._imports(needed, ("pytest",))
        docstring = '"""' + _docstring(f"{self.title}.\n\n{self.note}".rstrip()) + '"""'
        middle = self._middle()
        if self.check.subprocess:
            call = SUBPROCESS.format(arguments=self._arguments()).strip("\n")
            middle.append('if __name__ == "__main__":\n' + call)
        return self._joined(
            [
                docstring,
                "import pytest",
                "\n".join(skips),
                head.replace("import pytest\n", ""),
                *middle,
                "\n".join(tail),
            ]
        )

    def _joined(self, parts: list[str]) -> str:
        """Two empty lines around functions, one elsewhere."""
        kept = [part.strip("\n") for part in parts if part.strip()]
        text = kept[0]
        for before, part in itertools.pairwise(kept):
            wide = before.startswith(_BLOCKS) or part.startswith(_BLOCKS)
            text += ("\n\n\n" if wide else "\n\n") + part
        return text + "\n"

    def _imports(self, standard: tuple[str, ...], third: tuple[str, ...] = ()) -> str:
        standard = (*standard, *self.check.imports, *(["os"] if self.large else []))
        lines = {f"import {name}" for name in standard if " " not in name}
        lines |= {line for line in self.check.imports if " " in line}
        own = [line for line in self.spelling.imports if line not in _STANDARD]
        lines |= {line for line in self.spelling.imports if line in _STANDARD}
        libraries = dict.fromkeys(["import numpy as np", *(f"import {name}" for name in third), *own])
        if self._array_dtype == "bfloat16":
            libraries["import ml_dtypes"] = None
        order = sorted(libraries, key=lambda line: (line.startswith("from "), line))
        standard_lines = sorted(lines, key=lambda line: (line.startswith("from "), line))
        return "\n".join([*standard_lines, *([""] if standard_lines else []), *order])

    def _middle(self) -> list[str]:
        constants = [f"{name} = {value}{f'  # {why}' if why else ''}" for name, value, why in self.check.constants]
        extension = []
        if self.spelling.extension is not None:
            extension = [f"EXTENSION = {literals.quoted(self.spelling.extension)}  # the user's own kernel"]
        body = "\n".join(f"    {line}" for line in self.spelling.body)
        compute = f'def compute({", ".join(self.inputs)}):\n    """{_docstring(self.check.computes)}"""\n{body}'
        check = self.check.function.format(arguments=self._arguments(), names=", ".join(self.inputs))
        other = "\n".join(f"    {line}" for line in self.unchanged)
        unchanged = (
            f'def unchanged({", ".join(self.inputs)}):\n    """{_docstring(self.about)}"""\n{other}' if other else ""
        )
        definitions = self.spelling.definitions
        loose = [text for text in definitions if not text.startswith("def ")]
        return [
            "\n".join([*extension, *self._arrays(), *constants]),
            "\n".join(loose),
            *(text for text in definitions if text.startswith("def ")),
            compute,
            unchanged,
            check,
        ]

    def _arrays(self) -> list[str]:
        lines = []
        for name, values in self.inputs.items():
            shown = _retyped(values, self._array_dtype)
            text = literals.array(shown, self._array_dtype)
            if text is None:
                kind = literals.kind_text(self._array_dtype)
                text = f"np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), {self.beside!r}))"
                text += f"[{name!r}].astype({kind})"
            lines.append(f"{name} = {text}")
        return lines

    @property
    def _array_dtype(self) -> str:
        return self.spelling.dtype or self.dtype

    @property
    def large(self) -> dict[str, Array]:
        """The inputs that go into the file beside the script; bfloat16 as float32."""
        arrays = {name: _retyped(values, self._array_dtype) for name, values in self.inputs.items()}
        return {
            name: values.astype(np.float32) if values.dtype.name == "bfloat16" else values
            for name, values in arrays.items()
            if literals.array(values, self._array_dtype) is None
        }

    def _arguments(self) -> str:
        """Copies: a kernel that writes into its inputs does not change what is compared."""
        return ", ".join(f"{name}.copy()" for name in self.inputs)

    def _versions(self) -> str:
        shown = [f"{name} {{{text}}}" for name, text in self.spelling.versions]
        shown += ["NumPy {np.__version__}"] if ("NumPy", "np.__version__") not in self.spelling.versions else []
        return 'f"' + ", ".join([*shown, "Python {platform.python_version()}", "{cpu()}"]) + '"'

    def _needs(self) -> str:
        names = [name for name, _ in self.spelling.versions if name != "NumPy"]
        extra = ["ml_dtypes"] if self._array_dtype == "bfloat16" else []
        extra += [f"{self.spelling.extension.name} with what it imports"] if self.spelling.extension else []
        extra += ["ulpfuzz"] if self.note else []
        return " and ".join([", ".join([*names, *extra]), "NumPy"] if names or extra else ["NumPy"])


_BLOCKS = ("def ", "# @pytest", "if __name__")
_STANDARD = frozenset({"import math", "import importlib", "import importlib.util", "import functools"})


TAKEN = frozenset(
    [
        "np",
        "os",
        "sys",
        "math",
        "platform",
        "torch",
        "F",
        "jax",
        "jnp",
        "lax",
        "nn",
        "special",
        "tvm",
        "te",
        "topi",
        "tirx",
        "relax",
        "scipy",
        "ml_dtypes",
        "extension",
        "call",
        "out",
        "result",
        "results",
        "arrays",
        "tensors",
        "function",
        "kernel",
        "computed",
        "builder",
        "machine",
        "value",
        "compute",
        "examine",
        "cpu",
        "guarded",
        "unchanged",
        "one",
        "parts",
        "s_tir",
        "sch",
        "lowered",
        "shapes",
    ]
)
"""Names that scripts use themselves."""
_HANDLE = re.compile(r"[blv][0-9]+")
"""What TVM's traces call blocks, loops and numbers."""


def safe_names(names: list[str]) -> dict[str, str]:
    """Names that can be parameters: those of the inputs, or input0, input1, ... where one of them cannot."""
    if all(
        name.isidentifier() and not keyword.iskeyword(name) and name not in TAKEN and not _HANDLE.fullmatch(name)
        for name in names
    ):
        return {name: name for name in names}
    return {name: f"input{number}" for number, name in enumerate(names)}


def save_large(text: Text, path: Path) -> None:
    """Write the file beside a script, where one is needed."""
    if text.large:
        with path.open("wb") as file:
            np.savez_compressed(file, **text.large)  # type: ignore[arg-type]


def _retyped(values: Array, dtype: str) -> Array:
    return values if values.dtype.name == dtype else values.astype(dtype)


def _docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _string(text: str) -> str:
    """A Python string in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("{", "{").strip() + '"'
