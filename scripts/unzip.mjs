// Reads the files of a zip archive: enough of the format for archives that fit into memory.
import { inflateRawSync } from 'node:zlib'

const END_OF_DIRECTORY = 0x06054b50
const END_LENGTH = 22
const DIRECTORY_ENTRY = 0x02014b50
const DEFLATED = 8

/** The files of an archive, by its central directory. */
export function* unzip(archive) {
  let end = archive.length - END_LENGTH
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end--
  if (end < 0) throw new Error('this is no zip archive')
  const count = archive.readUInt16LE(end + 10)
  let at = archive.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('the directory of the zip archive is damaged')
    const nameLength = archive.readUInt16LE(at + 28)
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength)
    if (!name.endsWith('/')) yield { name, bytes: contentOf(archive, at) }
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
}

function contentOf(archive, entry) {
  const method = archive.readUInt16LE(entry + 10)
  const packed = archive.readUInt32LE(entry + 20)
  const header = archive.readUInt32LE(entry + 42)
  const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
  const bytes = archive.subarray(start, start + packed)
  return method === DEFLATED ? inflateRawSync(bytes) : bytes
}
