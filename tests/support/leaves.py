# leaves.py: for gdb: prints the leaves of a value, as path=value: numbers without sign, enumerators, texts, addresses.
import gdb
import struct

HOPS = 3


def emit(path, text):
    print("leaf %s=%s" % (path, text))


def memory(value, size):
    return bytes(gdb.selected_inferior().read_memory(int(value.address), size))


def text(data):
    quoted = "".join("\\u%04x" % ord(c) if ord(c) < 32 or ord(c) > 126 or c in '"\\' else c for c in data)
    return '"%s"' % quoted


def number(value, kind, bits):
    if kind.sizeof == 16:
        return str(int.from_bytes(memory(value, 16), "little"))
    return str(int(value) & ((1 << (bits or 8 * kind.sizeof)) - 1))


def fraction(value, kind):
    if kind.sizeof == 16:
        data = memory(value, 10)
        mantissa, top = struct.unpack("<QH", data)
        return repr((-1.0 if top >> 15 else 1.0) * mantissa * 2.0 ** ((top & 0x7FFF) - 16383 - 63))
    return repr(float(value))


def enumerator(value, kind, bits):
    raw = int(value)
    mask = (1 << (bits or 8 * kind.sizeof)) - 1
    for field in kind.fields():
        if field.enumval == raw or field.enumval & mask == raw & mask:
            return field.name.split("::")[-1]
    return str(raw & mask)


def members(value, kind, path, hops, seen):
    for field in kind.fields():
        # A static member has no place, nor has a virtual base class one that is known.
        if not hasattr(field, "bitpos"):
            continue
        if field.is_base_class:
            members(value[field], field.type.strip_typedefs(), path, hops, seen)
        elif not field.name:
            members(value[field], field.type.strip_typedefs(), path, hops, seen)
        else:
            seen[field.name] = seen.get(field.name, 0) + 1
            again = "#%d" % seen[field.name] if seen[field.name] > 1 else ""
            leaves(value[field], path + "." + field.name + again, hops, field.bitsize)


def elements(pointer, count, path, hops):
    emit(path + ".length", count)
    for index in range(count):
        leaves((pointer + index).dereference(), "%s.elements[%d]" % (path, index), hops, 0)


def head(value):
    """The pointer in a std::unique_ptr: a member of a base of the tuple in it."""
    kind = value.type.strip_typedefs()
    for field in kind.fields():
        if field.is_base_class or field.name == "_M_t":
            found = head(value[field])
            if found is not None:
                return found
        elif field.name == "_M_head_impl" and field.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            return value[field]
    return None


def library(value, name, path, hops):
    """Whether it is a value of the library that is shown by what it stands for."""
    if name.startswith("std::__cxx11::basic_string<char,"):
        data, length = value["_M_dataplus"]["_M_p"], int(value["_M_string_length"])
    elif name.startswith("std::basic_string_view<char,"):
        data, length = value["_M_str"], int(value["_M_len"])
    else:
        data = None
    if data is not None:
        emit(path, text(data.string("latin-1", length=length) if length else ""))
        return True
    if name.startswith("std::vector<") and not name.startswith("std::vector<bool,"):
        if hops:
            first = value["_M_impl"]["_M_start"]
            elements(first, int(value["_M_impl"]["_M_finish"] - first), path, hops - 1)
            return True
    if name.startswith("std::optional<"):
        payload = value["_M_payload"]
        if bool(payload["_M_engaged"]):
            leaves(payload["_M_payload"]["_M_value"], path + "._M_value", hops, 0)
        return True
    pointer = None
    if name.startswith("std::unique_ptr<") and "[]" not in name:
        pointer = head(value)
    elif name.startswith("std::shared_ptr<"):
        pointer = value["_M_ptr"]
    if pointer is not None and int(pointer) and hops:
        leaves(pointer.dereference(), path + ".value", hops - 1, 0)
        return True
    return False


def leaves(value, path, hops, bits):
    kind = value.type.strip_typedefs().unqualified()
    code = kind.code
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        if not library(value, kind.name or "", path, hops):
            members(value, kind, path, hops, {})
    elif code == gdb.TYPE_CODE_ARRAY:
        of = kind.target().strip_typedefs().unqualified()
        first, last = kind.range()
        if of.code == gdb.TYPE_CODE_INT and of.name == "char":
            data = memory(value, last + 1) if last >= 0 else b""
            emit(path, text(data.split(b"\0")[0].decode("latin-1")))
        else:
            for index in range(first, last + 1):
                leaves(value[index], "%s[%d]" % (path, index), hops, 0)
    elif code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        to = value.referenced_value()
        if hops:
            emit(path + ".address", hex(int(to.address)))
            leaves(to, path + ".value", hops - 1, 0)
        else:
            emit(path, hex(int(to.address)))
    elif kind.name == "decltype(nullptr)":
        emit(path, hex(int.from_bytes(memory(value, 8), "little")))
    elif code == gdb.TYPE_CODE_PTR:
        emit(path, hex(int(value)))
    elif code == gdb.TYPE_CODE_ENUM:
        emit(path, enumerator(value, kind, bits))
    elif code == gdb.TYPE_CODE_FLT:
        emit(path, fraction(value, kind))
    elif code == gdb.TYPE_CODE_COMPLEX:
        form = "<2f" if kind.sizeof == 8 else "<2d"
        for index, part in enumerate(struct.unpack(form, memory(value, kind.sizeof))):
            emit("%s[%d]" % (path, index), repr(part))
    elif code == gdb.TYPE_CODE_MEMBERPTR:
        emit(path, str(int.from_bytes(memory(value, 8), "little")))
    elif code == gdb.TYPE_CODE_METHODPTR:
        for index, part in enumerate(struct.unpack("<2Q", memory(value, 16))):
            emit("%s[%d]" % (path, index), str(part))
    else:
        emit(path, number(value, kind, bits))


class Leaves(gdb.Command):
    """leaves EXPRESSION: the leaves of a value."""

    def __init__(self):
        super(Leaves, self).__init__("leaves", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        leaves(gdb.parse_and_eval(argument), "", HOPS, 0)


class Variables(gdb.Command):
    """variables: the leaves of the variables of the selected frame that have a value."""

    def __init__(self):
        super(Variables, self).__init__("variables", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        frame = gdb.selected_frame()
        block, seen = frame.block(), set()
        while block is not None and block.function is None:
            block = self.of(frame, block, seen)
        self.of(frame, block, seen)

    def of(self, frame, block, seen):
        for symbol in block:
            if symbol.is_variable or symbol.is_argument or symbol.is_constant:
                if symbol.name not in seen:
                    seen.add(symbol.name)
                    self.show(symbol, frame)
        return block.superblock

    def show(self, symbol, frame):
        # gdb has an error for some locations (DW_OP_convert).
        try:
            value = symbol.value(frame)
            if value.is_optimized_out:
                print("gone %s" % symbol.name)
            else:
                leaves(value, symbol.name, 0, 0)
        except (gdb.error, gdb.MemoryError, TypeError):
            print("gone %s" % symbol.name)


Leaves()
Variables()
