// Puts a note into an executable of Linux (ELF, 64 bits, little-endian), where Node looks for the program of a single executable. The note
// and a new table of program headers are appended, and mapped by a segment of their own behind all others:
//
//     before   header │ headers … │ segments …
//     after    header │ (unused)  │ segments … │ headers …, +2 │ note
//                └───────────────────────────────┘

const HEADER_BYTES = 56
const PT_LOAD = 1
const PT_NOTE = 4
const PT_PHDR = 6
const READABLE = 4
/** The largest page of a Linux on arm64. */
const ALIGNMENT = 0x10000

/** The executable with the note. */
export function withNote(program, name, content) {
  if (program.readUInt32BE(0) !== 0x7f454c46 || program[4] !== 2 || program[5] !== 1)
    throw new Error('the program of Node is no 64-bit ELF')
  const headers = readHeaders(program)
  const loads = headers.filter(({ type }) => type === PT_LOAD)
  const base = Math.min(...loads.map(({ address, offset }) => address - offset))
  const end = Math.max(...loads.map(({ address, memory }) => address + memory))
  // The same distance between file and memory as for the first segment: older kernels take it for granted.
  const offset = up(Math.max(program.length, end - base), ALIGNMENT)
  const table = (headers.length + 2) * HEADER_BYTES
  const note = noteOf(name, content)
  const place = (from, size) => ({ flags: READABLE, offset: from, address: base + from, file: size, memory: size })
  const changed = [
    ...headers.map(header => (header.type === PT_PHDR ? { ...header, ...place(offset, table) } : header)),
    { type: PT_LOAD, ...place(offset, table + note.length), align: ALIGNMENT },
    { type: PT_NOTE, ...place(offset + table, note.length), align: 4 },
  ]
  const made = Buffer.alloc(offset + table + note.length)
  program.copy(made)
  made.writeBigUInt64LE(BigInt(offset), 32)
  made.writeUInt16LE(changed.length, 56)
  for (const [i, header] of changed.entries()) writeHeader(made, offset + i * HEADER_BYTES, header)
  note.copy(made, offset + table)
  return made
}

function readHeaders(program) {
  const at = Number(program.readBigUInt64LE(32))
  return Array.from({ length: program.readUInt16LE(56) }, (_, i) => {
    const from = at + i * HEADER_BYTES
    const [offset, address, , file, memory, align] = [8, 16, 24, 32, 40, 48].map(field => Number(program.readBigUInt64LE(from + field)))
    return { type: program.readUInt32LE(from), flags: program.readUInt32LE(from + 4), offset, address, file, memory, align }
  })
}

function writeHeader(made, at, { type, flags, offset, address, file, memory, align }) {
  made.writeUInt32LE(type, at)
  made.writeUInt32LE(flags, at + 4)
  for (const [i, value] of [offset, address, address, file, memory, align].entries()) made.writeBigUInt64LE(BigInt(value), at + 8 + i * 8)
}

/** Lengths of name and content, a type, then both, each filled up to four bytes. */
function noteOf(name, content) {
  const label = Buffer.from(`${name}\0`)
  const note = Buffer.alloc(12 + up(label.length, 4) + up(content.length, 4))
  note.writeUInt32LE(label.length, 0)
  note.writeUInt32LE(content.length, 4)
  label.copy(note, 12)
  content.copy(note, 12 + up(label.length, 4))
  return note
}

const up = (value, to) => Math.ceil(value / to) * to
