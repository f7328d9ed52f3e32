/**
 * The files of the console, as the build has made them: read when a browser asks for them, and kept until there is another build. Anybody
 * may ask, without a login, so most requests touch no disk, and none reads a file that the build has not made.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
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

export class StaticFiles {
  readonly #folder: string
  #build: { readonly page: string; readonly names: ReadonlySet<string> } = { page: '', names: new Set() }
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** The files of this build that were asked for. */
  readonly #kept = new Map<string, Promise<Buffer>>()

  constructor(folder: string) {
    this.#folder = folder
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
    if (!reading) this.#kept.set(name, (reading = readFile(join(this.#folder, name))))
    try {
      return await reading
    } catch (error) {
      this.#kept.delete(name)
      // Another build has just removed it.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Every build has another page, which names its files. */
  async #look(): Promise<void> {
    if (performance.now() - this.#lookedAt < FRESH_MS) return
    this.#looking ??= this.#list().finally(() => (this.#looking = undefined))
    await this.#looking
  }

  async #list(): Promise<void> {
    const found = await stat(join(this.#folder, 'index.html')).catch(() => undefined)
    const page = found ? `${found.mtimeMs} ${found.ino}` : ''
    if (page !== this.#build.page) {
      const assets = found ? await readdir(join(this.#folder, 'assets')) : []
      const names = found ? [...(await readdir(this.#folder)), ...assets.map(name => join('assets', name))] : []
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
