/**
 * A log file that is rotated when it is large: the old one is renamed after the time, compressed if asked for, and removed when there are
 * too many or it is too old. Lines are appended at once, so that a line that was written survives the process.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

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

export class LogFile {
  readonly #path: string
  readonly #rotation: Rotation
  readonly #now: () => number
  readonly #failed: (why: string) => void
  #file: number
  #bytes: number
  #cleaning: Promise<void> = Promise.resolve()

  /** Throws if the file cannot be opened for writing. */
  constructor(
    path: string,
    { rotation, now, failed }: { readonly rotation: Rotation; readonly now: () => number; readonly failed: (why: string) => void },
  ) {
    this.#path = path
    this.#rotation = rotation
    this.#now = now
    this.#failed = failed
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    this.#file = openSync(path, 'a', MODE)
    this.#bytes = fstatSync(this.#file).size
    this.#clean()
  }

  /** Appends a line. Throws if it cannot be written. */
  append(line: string): void {
    const bytes = Buffer.from(line)
    const { maxBytes } = this.#rotation
    if (maxBytes > 0 && this.#bytes > 0 && this.#bytes + bytes.byteLength > maxBytes) this.#rotate()
    for (let written = 0; written < bytes.byteLength; ) written += writeSync(this.#file, bytes, written)
    this.#bytes += bytes.byteLength
  }

  #rotate(): void {
    closeSync(this.#file)
    renameSync(this.#path, this.#freeBackupName())
    this.#file = openSync(this.#path, 'a', MODE)
    this.#bytes = 0
    this.#clean()
  }

  /** `audit-2026-01-02T03-04-05.678.log`: two rotations within a millisecond get two names. */
  #freeBackupName(): string {
    const { folder, stem, extension } = this.#names()
    const taken = new Set(readdirSync(folder))
    for (let time = this.#now(); ; time++) {
      const name = `${stem}-${new Date(time).toISOString().slice(0, -1).replaceAll(':', '-')}${extension}`
      if (!taken.has(name) && !taken.has(name + COMPRESSED)) return join(folder, name)
    }
  }

  #names(): { readonly folder: string; readonly stem: string; readonly extension: string } {
    const extension = extname(this.#path)
    return { folder: dirname(this.#path), stem: basename(this.#path, extension), extension }
  }

  #clean(): void {
    this.#cleaning = this.#cleaning.then(() => this.#removeAndCompress()).catch(error => this.#failed((error as Error).message))
  }

  async #removeAndCompress(): Promise<void> {
    const { maxBackups, maxAgeMs, isCompressed } = this.#rotation
    const { folder } = this.#names()
    const backups = this.#backups()
    const oldest = maxAgeMs > 0 ? this.#now() - maxAgeMs : Number.NEGATIVE_INFINITY
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

/** Replaces a file by its compressed form; a half-written one is not taken for it. */
async function compress(file: string): Promise<void> {
  const draft = `${file}${COMPRESSED}.tmp`
  await pipeline(createReadStream(file), createGzip(), createWriteStream(draft, { mode: MODE }))
  renameSync(draft, `${file}${COMPRESSED}`)
  rmSync(file)
}
