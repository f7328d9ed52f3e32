/** A document built once and served many times: its bytes, and the headers for caching clients. */
import { createHash } from 'node:crypto'

export type ServedDocument = {
  readonly contentType: string
  readonly body: Buffer
  /** Quoted, as in the ETag header. */
  readonly etag: string
  /** Every header but Content-Type and Content-Length, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** A document whose ETag is a hash of its content. */
export function servedDocument(body: Buffer, { contentType, cacheControl }: { contentType: string; cacheControl: string }): ServedDocument {
  const etag = quoted(contentHash(body))
  return { contentType, body, etag, headers: { etag, vary: 'Accept', 'cache-control': cacheControl } }
}

/** A hash as an entity tag. */
export const quoted = (hash: string) => `"${hash}"`

/** The hash of the content in kube-apiserver's format. */
export const contentHash = (body: Uint8Array) => createHash('sha512').update(body).digest('hex').toUpperCase()

/** Whether the If-None-Match header has the document's ETag, so that the response is 304. */
export function isUnchanged({ etag }: ServedDocument, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
