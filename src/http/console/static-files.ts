/** The files of the console, as the build has made them: read when a browser asks for them, and kept while they do not change. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { header, type Request, type Response, textResponse } from '../message.ts'

/** A served file, in the encodings that the build has made. */
type Kept = { readonly mtimeMs: number; readonly size: number; readonly bytes: Buffer }

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

export class StaticFiles {
  readonly #folder: string
  /** Keyed by path. Only files that the build has made get here, so that their number is bounded. */
  readonly #kept = new Map<string, Kept>()

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
    const type = /^[A-Za-z0-9_-]+\.(\w+)$/.exec(name)?.[1] ?? ''
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
    const path = join(this.#folder, name)
    try {
      const { mtimeMs, size } = await stat(path)
      const kept = this.#kept.get(path)
      if (kept && kept.mtimeMs === mtimeMs && kept.size === size) return kept.bytes
      const bytes = await readFile(path)
      this.#kept.set(path, { mtimeMs, size, bytes })
      return bytes
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      this.#kept.delete(path)
      return undefined
    }
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
