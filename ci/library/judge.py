"""Judges C libraries of a release: judge.py HEADER LIBRARY... Each has to export the functions of
the header and nothing else by the header's prefix, and may ask for libraries of the system alone,
of no newer system than docs/python.md and the wheels' tags promise. A line says what each is for,
how large it is and which libraries it asks for."""

import re
import struct
import sys

SYSTEM = {
    "elf": r"lib(c|pthread|dl|rt)\.so\.\d|ld-linux-[\w-]+\.so\.\d",
    "pe": r"(api-ms-win-crt-[\w-]+|kernel32|ntdll|ucrtbase|msvcrt|ws2_32)\.dll",
    "macho": r"/usr/lib/lib(System|resolv\.9)\.\w*\.?dylib|"
    r"/System/Library/Frameworks/CoreFoundation\.framework/.*",
}

# The newest release that a library may ask for.
NEWEST = {"elf": ("glibc", (2, 17)), "pe": ("Windows", ()), "macho": ("macOS", (12, 0))}


class File:
    def __init__(self, data):
        self.data = data

    def get(self, form, at):
        return struct.unpack_from("<" + form, self.data, at)

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def elf(self):
        """Return the machine, the exported names and the needs, with the newest glibc of them."""
        sections, (size, count) = self.get("Q", 0x28)[0], self.get("HH", 0x3A)
        heads = [self.get("IIQQQQIIQQ", sections + i * size) for i in range(count)]
        names, needs, versions = set(), set(), set()
        for _, kind, _, _, at, length, link, _, _, entry in heads:
            strings = heads[link][4]
            if kind == 11:  # SHT_DYNSYM
                for i in range(at, at + length, entry):
                    name, _, _, section, _, _ = self.get("IBBHQQ", i)
                    if section:
                        names.add(self.text(strings + name))
            elif kind == 6:  # SHT_DYNAMIC
                for i in range(at, at + length, 16):
                    tag, value = self.get("QQ", i)
                    if tag == 1:  # DT_NEEDED
                        needs.add(self.text(strings + value))
            elif kind == 0x6FFFFFFE:  # SHT_GNU_verneed
                text = self.data[strings : strings + heads[link][5]]
                versions |= set(re.findall(rb"GLIBC_([\d.]+)", text))
        newest = max(tuple(map(int, v.split(b"."))) for v in versions)
        machine = {62: "x86_64", 183: "arm64"}[self.get("H", 18)[0]]
        return machine, names, needs, newest

    def pe(self):
        head = self.get("I", 0x3C)[0]
        machine, count = self.get("HH", head + 4)
        optional = head + 24
        assert self.get("H", optional)[0] == 0x20B, "not PE32+"
        sections = [
            self.get("IIII", optional + self.get("H", head + 20)[0] + i * 40 + 8)
            for i in range(count)
        ]

        def place(address):
            for virtual, base, raw, at in sections:
                if base <= address < base + max(virtual, raw):
                    return at + address - base
            raise ValueError(f"no section has {address:x}")

        exports, imports = self.get("I", optional + 112)[0], self.get("I", optional + 120)[0]
        at = place(exports)
        number, table = self.get("I", at + 24)[0], place(self.get("I", at + 32)[0])
        names = {self.text(place(self.get("I", table + 4 * i)[0])) for i in range(number)}
        needs, at = set(), place(imports)
        while name := self.get("I", at + 12)[0]:
            needs.add(self.text(place(name)).lower())
            at += 20
        return {0x8664: "x86_64", 0xAA64: "arm64"}[machine], names, needs, ()

    def macho(self):
        machine, _, _, count = self.get("IIII", 4)
        names, needs, oldest, at = set(), set(), (), 32
        for _ in range(count):
            command, size = self.get("II", at)
            if command == 2:  # LC_SYMTAB
                symbols, number, strings, _ = self.get("IIII", at + 8)
                for i in range(number):
                    name, kind, _, _, _ = self.get("IBBHQ", symbols + 16 * i)
                    if kind & 0x1F == 0x0F:  # external, defined in a section
                        names.add(self.text(strings + name).removeprefix("_"))
            elif command == 0xC:  # LC_LOAD_DYLIB
                needs.add(self.text(at + self.get("I", at + 8)[0]))
            elif command == 0x32:  # LC_BUILD_VERSION
                version = self.get("I", at + 12)[0]
                oldest = version >> 16, version >> 8 & 255
            at += size
        return {0x01000007: "x86_64", 0x0100000C: "arm64"}[machine], names, needs, oldest


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        wanted = set(re.findall(r"^ASSAY_API [^(;]*?\b(assay_\w+)\(", f.read(), re.MULTILINE))
    assert "assay_compile" in wanted and "assay_status" in wanted, wanted
    failed = False
    for path in sys.argv[2:]:
        with open(path, "rb") as f:
            file = File(f.read())
        kind = {b"\x7fELF": "elf", b"MZ\x90\0": "pe", b"MZ\x78\0": "pe"}.get(file.data[:4], "macho")
        machine, names, needs, version = getattr(file, kind)()
        own = {name for name in names if name.startswith("assay_")}
        strange = {need for need in needs if not re.fullmatch(SYSTEM[kind], need)}
        system, newest = NEWEST[kind]
        print(f"{path}: {kind}, {machine}, {len(file.data)} bytes, {len(own)} functions, "
              f"{' '.join([system, '.'.join(map(str, version))]).strip()}: "
              f"{', '.join(sorted(needs))}")  # fmt: skip
        if own != wanted or strange or version > newest or bool(version) != bool(newest):
            failed = True
            print(f"{path}: functions that differ: {own ^ wanted}; strange: {strange}; "
                  f"may need at most: {system} {newest}")  # fmt: skip
    sys.exit(failed)


main()
