/** Compresses large responses for clients that accept it, off the event loop. */
import { promisify } from 'node:util'
import { createGzip, type Gzip, gzip } from 'node:zlib'
import { LIMITS } from '../lib/limits.ts'
import type { Request, Response, ResponseBody } from './message.ts'
import { acceptsGzip } from './negotiate.ts'

const gzipWhole = promisify(gzip)
// The lowest level gives nearly the best size for JSON, at a fraction of the time.
const OPTIONS = { level: 1 }

/** The response, compressed if it is large enough. */
export function compress(
  request: Request,
  response: Response,
  { gate }: { readonly gate: (name: string) => boolean },
): Response | Promise<Response> {
  const { body } = response
  if (!(body instanceof Uint8Array) && body.type === 'stream') return compressedStream(request, response, { body, gate })
  const size = body instanceof Uint8Array ? body.byteLength : body.type === 'pieces' ? (body.length ?? Number.POSITIVE_INFINITY) : 0
  if (size <= LIMITS.gzipBytes || response.headers['content-encoding'] !== undefined || !acceptsGzip(request)) return response
  return gate('APIResponseCompression') ? zipped(response) : response
}

/** A stream is compressed as a whole, however short it will be, if it can be. */
function compressedStream(
  request: Request,
  response: Response,
  { body, gate }: { readonly body: Extract<ResponseBody, { type: 'stream' }>; readonly gate: (name: string) => boolean },
): Response {
  const { startCompressed, ...plain } = body
  if (!startCompressed || !gate('WatchListCompression') || !acceptsGzip(request)) return response
  return { ...response, headers: zippedHeaders(response), body: { ...plain, start: startCompressed } }
}

const zippedHeaders = ({ headers }: Response): Response['headers'] => ({
  ...headers,
  'content-encoding': 'gzip',
  vary: [headers['vary'] ?? [], 'Accept-Encoding'].flat().join(', '),
})

async function zipped(response: Response): Promise<Response> {
  const { body } = response
  const headers = zippedHeaders(response)
  if (body instanceof Uint8Array) return { ...response, headers, body: await gzipWhole(body, OPTIONS) }
  if (body.type !== 'pieces') return response
  return { ...response, headers, body: { type: 'pieces', length: undefined, pieces: compressed(body.pieces) } }
}

async function* compressed(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zip = createGzip(OPTIONS)
  const feeding = feed(pieces, zip)
  try {
    for await (const chunk of zip) yield chunk as Uint8Array
    await feeding
  } finally {
    zip.destroy()
  }
}

async function feed(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, zip: Gzip): Promise<void> {
  const gone = new Promise<void>(resolve => void zip.once('close', resolve))
  try {
    for await (const piece of pieces) {
      if (zip.destroyed) return
      // A chunk is valid until the next is requested, so it must have been read by then.
      await Promise.race([gone, new Promise<void>(resolve => void zip.write(piece, () => resolve()))])
    }
    zip.end()
  } catch (error) {
    zip.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}
