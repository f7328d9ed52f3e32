/** Computes when a CertificateSigningRequest is deleted. */
import { decodePem } from '../../lib/pem.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { readCertificates } from '../../lib/x509/certificate.ts'
import { DerError } from '../../lib/x509/der-reader.ts'
import type { SigningRequest } from '../csrsigning/signers.ts'

const HOUR_MS = 3_600_000
/** After it was approved and issued, denied, or has failed. */
const DONE_MS = HOUR_MS
/** After it was created and not decided, or approved and not issued. */
const PENDING_MS = 24 * HOUR_MS

/** In how many milliseconds a request is deleted; undefined for one that stays. */
export function remainingLife({ metadata, status }: SigningRequest, now: number): number | undefined {
  const { conditions = [], certificate } = status
  const ends: number[] = []
  if (conditions.length === 0) ends.push(millisecondsAt(metadata.creationTimestamp, Infinity) + PENDING_MS)
  for (const { type, lastUpdateTime } of conditions) {
    if (type === 'Denied' || type === 'Failed') ends.push(millisecondsAt(lastUpdateTime, Infinity) + DONE_MS)
    if (type !== 'Approved') continue
    ends.push(millisecondsAt(lastUpdateTime, Infinity) + (certificate ? DONE_MS : PENDING_MS))
    if (certificate) ends.push(expiryOf(certificate))
  }
  const end = Math.min(...ends)
  return Number.isFinite(end) ? Math.max(end - now, 0) : undefined
}

/** When the issued certificate expires; a certificate of another signer may be unreadable. */
function expiryOf(certificate: string): number {
  try {
    const { block } = decodePem(Buffer.from(certificate, 'base64').toString('latin1'))
    return (block && readCertificates(block.bytes)[0]?.notAfter.getTime()) ?? Infinity
  } catch (error) {
    if (error instanceof DerError) return Infinity
    throw error
  }
}
