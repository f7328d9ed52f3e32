/**
 * The files of the console, as the build has made them: read when a browser asks for them, and kept until there is another build. Anybody
 * may ask, without a login, so most requests touch no disk, and none reads a file that the build has not made.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { packedFile } from '../../lib/executable.ts'
import { header, type Request, type Response, textResponse } from '../message.ts'

const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}

/** A build is noticed at most this much later. */
const FRESH_MS = 1_000

/** Where the files of a build are. */
export type FileSource = {
  /** A text that is another for each build; empty if there is none. */
  build(): Promise<string>
  names(): Promise<readonly string[]>
  /** Fails with ENOENT for a file of an earlier build. */
  read(name: string): Promise<Buffer>
}

/** The files in a folder, which a later build may replace. */
export const filesInFolder = (folder: string): FileSource => ({
  // Every build has another page, which names its files.
  async build() {
    const found = await stat(join(folder, 'index.html')).catch(() => undefined)
    return found ? `${found.mtimeMs} ${found.ino}` : ''
  },
  async names() {
    const assets = await readdir(join(folder, 'assets'))
    return [...(await readdir(folder)), ...assets.map(name => join('assets', name))]
  },
  read: name => readFile(join(folder, name)),
})

/** The files inside of the single executable. */
export const PACKED_FILES: FileSource = {
  build: async () => 'packed',
  names: async () => JSON.parse((await packedFile('console.json')).toString()),
  read: name => packedFile(`console/${name}`),
}

export class StaticFiles {
  readonly #source: FileSource
  #build: { readonly page: string; readonly names: ReadonlySet<string> } = { page: '', names: new Set() }
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** The files of this build that were asked for. */
  readonly #kept = new Map<string, Promise<Buffer>>()

  constructor(source: FileSource) {
    this.#source = source
  }

  /** The page, whatever the client-side route. */
  async page(request: Request): Promise<Response> {
    const found = await this.#encoded(request, 'index.html')
    if (!found) return textResponse(503, 'the files of the console are not there: build them with npm run build\n')
    return {
      status: 200,
      headers: { ...found.headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
      body: found.body,
    }
  }

  /** A file whose name has a digest of its content. */
  async asset(request: Request, name: string): Promise<Response> {
    const type = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(\w+)$/.exec(name)?.[1] ?? ''
    const found = Object.hasOwn(MEDIA_TYPES, type) ? await this.#encoded(request, join('assets', name)) : undefined
    if (!found) return textResponse(404, '404 page not found\n')
    const headers = { ...found.headers, 'content-type': MEDIA_TYPES[type]!, 'cache-control': 'public, max-age=31536000, immutable' }
    return { status: 200, headers, body: found.body }
  }

  async #encoded(request: Request, name: string): Promise<Pick<Response, 'headers' | 'body'> | undefined> {
    const accepted = acceptedEncodings(request)
    for (const { name: encoding, suffix } of ENCODINGS) {
      if (!accepted.has(encoding)) continue
      const bytes = await this.#read(name + suffix)
      if (bytes) return { headers: { vary: 'Accept-Encoding', 'content-encoding': encoding }, body: bytes }
    }
    const bytes = await this.#read(name)
    return bytes && { headers: { vary: 'Accept-Encoding' }, body: bytes }
  }

  async #read(name: string): Promise<Buffer | undefined> {
    await this.#look()
    if (!this.#build.names.has(name)) return undefined
    let reading = this.#kept.get(name)
    if (!reading) this.#kept.set(name, (reading = this.#source.read(name)))
    try {
      return await reading
    } catch (error) {
      this.#kept.delete(name)
      // Another build has just removed it.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  async #look(): Promise<void> {
    if (performance.now() - this.#lookedAt < FRESH_MS) return
    this.#looking ??= this.#list().finally(() => (this.#looking = undefined))
    await this.#looking
  }

  async #list(): Promise<void> {
    const page = await this.#source.build()
    if (page !== this.#build.page) {
      const names = page === '' ? [] : await this.#source.names()
      this.#kept.clear()
      this.#build = { page, names: new Set(names) }
    }
    this.#lookedAt = performance.now()
  }
}

/** The encodings that the client accepts; one with `q=0` it does not. */
function acceptedEncodings({ headers }: Request): ReadonlySet<string> {
  const items = (header(headers, 'accept-encoding') ?? '').toLowerCase().split(',')
  const accepted = items.flatMap(item => {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim())
    return parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name]
  })
  return new Set(accepted)
}
