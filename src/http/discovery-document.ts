/** A document made once and served many times: its bytes, and the headers that let clients keep it. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

export type ServedDocument = {
  readonly contentType: string
  readonly body: Buffer
  /** Quoted, as it goes into the ETag header. */
  readonly etag: string
  /** Every header but Content-Type and Content-Length. */
  readonly headers: Readonly<Record<string, string>>
}

/** Serialises a value and names it by its content. */
export function servedDocument(
  value: object,
  { contentType, cacheControl }: { contentType: string; cacheControl: string },
): ServedDocument {
  const body = Buffer.from(JSON.stringify(value))
  const etag = quoted(contentHash(body))
  return { contentType, body, etag, headers: { ETag: etag, Vary: 'Accept', 'Cache-Control': cacheControl } }
}

/** A hash as an entity tag. */
export const quoted = (hash: string) => `"${hash}"`

const compressed = new WeakMap<Buffer, Buffer>()
/** The document's bytes in gzip form, compressed once. */
export function gzipped({ body }: Pick<ServedDocument, 'body'>): Buffer {
  const known = compressed.get(body)
  if (known) return known
  const bytes = gzipSync(body, { level: 6 })
  compressed.set(body, bytes)
  return bytes
}

/** The hash by which clients name the content, in kube-apiserver's form. */
export const contentHash = (body: Uint8Array) => createHash('sha512').update(body).digest('hex').toUpperCase()

/** Whether an If-None-Match header says that the client has this document already, so that 304 is the answer. */
export function isUnchanged({ etag }: ServedDocument, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
