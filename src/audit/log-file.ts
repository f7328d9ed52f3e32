/**
 * A log file that is rotated when it is large: the old one is renamed after the time, compressed if asked for, and removed when there are
 * too many or it is too old. Lines are appended at once, so that a line that was written survives the process. Several processes may append
 * to one file, of which one rotates it.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { writeWhole } from '../lib/write-whole.ts'

export type Rotation = {
  /** 0 never rotates. */
  readonly maxBytes: number
  /** Old files that are kept; 0 keeps all. */
  readonly maxBackups: number
  /** 0 keeps them whatever their age. */
  readonly maxAgeMs: number
  readonly isCompressed: boolean
}

const MODE = 0o600
const COMPRESSED = '.gz'
const NEWLINE = 0x0a
const LINE_END = Buffer.of(NEWLINE)

/** The other processes that append to the same file. */
export type OtherWriters = {
  /** Whether this process rotates the file for all. */
  readonly isRotator: boolean
  /** Asks the process that does to rotate it; resolves when it has been told. */
  readonly askToRotate: () => Promise<unknown>
}

export type LogFileOptions = {
  readonly rotation: Rotation
  readonly now: () => number
  /** Old files could not be removed or compressed. */
  readonly failed: (why: string) => void
  readonly others?: OtherWriters | undefined
}

export class LogFile {
  readonly #path: string
  readonly #options: LogFileOptions
  #file = -1
  /** Tells the file from the one that replaces it. */
  #inode = 0
  #bytes = 0
  /** Whether it is a file with a size, not a pipe or a device. */
  #isPlain = true
  /** The file ends within a line, as there was no room for the rest of it. */
  #isTorn = false
  #isAsking = false
  #cleaning: Promise<void> = Promise.resolve()

  /** Throws if the file cannot be opened for writing. */
  constructor(path: string, options: LogFileOptions) {
    this.#path = path
    this.#options = options
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    this.#open()
    this.#clean()
  }

  #open(): void {
    const file = openSync(this.#path, 'a', MODE)
    const found = fstatSync(file)
    this.#file = file
    this.#inode = found.ino
    this.#bytes = found.size
    this.#isPlain = found.isFile()
    this.#isTorn = this.#isPlain && !endsWithLine(this.#path, found.size)
  }

  /** Appends lines. Throws if they cannot be written. */
  append(lines: Uint8Array): void {
    if (this.#options.others) this.#followOthers()
    const bytes = this.#isTorn ? Buffer.concat([LINE_END, lines]) : lines
    if (this.#isFull(bytes.byteLength)) this.#makeRoom()
    this.#write(bytes)
    // Another process has rotated the file meanwhile, and has compressed and removed it already: the lines may not be in the compressed one.
    if (this.#options.others && fstatSync(this.#file).nlink === 0) {
      this.#reopen()
      this.#write(bytes)
    }
  }

  /** Rotates a file that has reached its size, where this process does that. */
  rotateFull(): void {
    if (!this.#options.others?.isRotator) return
    this.#followOthers()
    if (this.#isFull(1)) this.#rotate()
  }

  #write(bytes: Uint8Array): void {
    try {
      writeWhole(this.#file, bytes)
      this.#isTorn = false
      this.#bytes += bytes.byteLength
    } catch (error) {
      this.#isTorn = fstatSync(this.#file).size !== this.#bytes
      throw error
    }
  }

  /** Opens the file anew when another process has rotated it, and learns its size. */
  #followOthers(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false })
    if (found?.ino === this.#inode) this.#bytes = found.size
    else this.#reopen()
  }

  #reopen(): void {
    const before = this.#file
    this.#open()
    closeSync(before)
  }

  #isFull(more: number): boolean {
    const { maxBytes } = this.#options.rotation
    return this.#isPlain && maxBytes > 0 && this.#bytes > 0 && this.#bytes + more > maxBytes
  }

  #makeRoom(): void {
    const { others } = this.#options
    if (!others || others.isRotator) return void this.#rotate()
    if (this.#isAsking) return
    this.#isAsking = true
    void others.askToRotate().then(() => {
      this.#isAsking = false
    })
  }

  #rotate(): void {
    renameSync(this.#path, this.#freeBackupName())
    this.#reopen()
    this.#clean()
  }

  /** `audit-2026-01-02T03-04-05.678.log`: two rotations within a millisecond get two names. */
  #freeBackupName(): string {
    const { folder, stem, extension } = this.#names()
    const taken = new Set(readdirSync(folder))
    for (let time = this.#options.now(); ; time++) {
      const name = `${stem}-${new Date(time).toISOString().slice(0, -1).replaceAll(':', '-')}${extension}`
      if (!taken.has(name) && !taken.has(name + COMPRESSED)) return join(folder, name)
    }
  }

  #names(): { readonly folder: string; readonly stem: string; readonly extension: string } {
    const extension = extname(this.#path)
    return { folder: dirname(this.#path), stem: basename(this.#path, extension), extension }
  }

  #clean(): void {
    if (this.#options.others?.isRotator === false) return
    this.#cleaning = this.#cleaning.then(() => this.#removeAndCompress()).catch(error => this.#options.failed((error as Error).message))
  }

  async #removeAndCompress(): Promise<void> {
    const { maxBackups, maxAgeMs, isCompressed } = this.#options.rotation
    const { folder } = this.#names()
    const backups = this.#backups()
    const oldest = maxAgeMs > 0 ? this.#options.now() - maxAgeMs : Number.NEGATIVE_INFINITY
    for (const [i, { name, time }] of backups.entries()) {
      const file = join(folder, name)
      if ((maxBackups > 0 && i >= maxBackups) || time < oldest) rmSync(file, { force: true })
      else if (isCompressed && !name.endsWith(COMPRESSED)) await compress(file)
    }
  }

  /** Old files, the newest first. */
  #backups(): { readonly name: string; readonly time: number }[] {
    const { folder, stem, extension } = this.#names()
    const found = readdirSync(folder).flatMap(name => {
      const plain = name.endsWith(COMPRESSED) ? name.slice(0, -COMPRESSED.length) : name
      if (!plain.startsWith(`${stem}-`) || !plain.endsWith(extension)) return []
      const text = plain.slice(stem.length + 1, plain.length - extension.length)
      const time = Date.parse(`${text.replace(/T(\d\d)-(\d\d)-(\d\d\.\d{3})$/, 'T$1:$2:$3')}Z`)
      return Number.isNaN(time) ? [] : [{ name, time }]
    })
    return found.sort((a, b) => b.time - a.time)
  }

  /** Resolves when old files are as they should be. */
  async close(): Promise<void> {
    closeSync(this.#file)
    await this.#cleaning
  }
}

function endsWithLine(path: string, size: number): boolean {
  if (size === 0) return true
  const file = openSync(path, 'r')
  try {
    const last = Buffer.alloc(1)
    return readSync(file, last, 0, 1, size - 1) === 0 || last[0] === NEWLINE
  } finally {
    closeSync(file)
  }
}

/** Replaces a file by its compressed form; a half-written one is not taken for it, nor one without lines that came late. */
async function compress(file: string): Promise<void> {
  const draft = `${file}${COMPRESSED}.tmp`
  for (;;) {
    const before = statSync(file).size
    await pipeline(createReadStream(file), createGzip(), createWriteStream(draft, { mode: MODE }))
    if (statSync(file).size === before) break
  }
  renameSync(draft, `${file}${COMPRESSED}`)
  rmSync(file)
}
