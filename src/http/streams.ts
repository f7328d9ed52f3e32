/** Reads and writes Node's streams, within limits and with backpressure. */
import type { Readable } from 'node:stream'
import { badRequest } from '../schema/status-error.ts'
import type { Outlet, RequestHeaders, Response } from './message.ts'

/** Whether HTTP/1.1 headers announce a body. */
export const hasBody = (headers: RequestHeaders) => headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * The content of a stream; undefined once it exceeds the limit, and then the rest is left unread. A stream that fails closes; its opener
 * listens for errors. Listeners stay until the stream is gone: removing them takes longer than all the rest.
 */
export function collect(stream: Readable, limit: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let isSettled = false
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) return void chunks.push(chunk)
      isSettled = true
      stream.off('data', take)
      stream.pause()
      resolve(undefined)
    }
    const done = () => {
      isSettled = true
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    }
    const broken = () => {
      if (isSettled) return
      isSettled = true
      reject(badRequest('unexpected EOF'))
    }
    if (stream.destroyed && !stream.readableEnded) return broken()
    stream.on('data', take).on('end', done).on('close', broken)
  })
}

/** Writes chunks as fast as the client reads them; stops when it disconnects. */
export async function pump(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  outlet: Outlet | NodeJS.WritableStream,
): Promise<void> {
  const out = outlet as Outlet
  let open = true
  let resume = () => {}
  out.once('close', () => {
    open = false
    resume()
  })
  try {
    for await (const piece of pieces) {
      if (!open) return
      // Waits until the chunk is written, not merely until the buffer has drained: the next chunk may use the same memory.
      await new Promise<void>(resolve => {
        resume = resolve
        out.write(piece, resolve)
      })
    }
    if (open) out.end()
  } catch {
    // The head has been sent already: a broken response can only be cut off.
    out.destroy()
  }
}

/** Releases the resources of a response that will not be read. */
export function abandon({ body, taken, tunnel }: Response): void {
  taken?.()
  tunnel?.abandon()
  if (!(body instanceof Uint8Array) && body.type === 'stream') body.start(GONE)
}

const GONE: Outlet = {
  write: () => false,
  end: () => {},
  destroy: () => {},
  writableLength: 0,
  writableNeedDrain: false,
  once: (event, listener) => event === 'close' && listener(),
}
