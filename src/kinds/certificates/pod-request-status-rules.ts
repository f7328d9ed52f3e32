/** How a request for a pod's certificate ends: issued, denied or failed, once and for all. */
import { type Certificate, readCertificate } from '../../lib/certificate.ts'
import { DerError } from '../../lib/der-reader.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { pemBlocks } from '../../lib/pem.ts'
import { millisecondsOf, parseTime } from '../../lib/time.ts'
import { type FieldError, invalid, invalidUnshown, type Ref, refTo, required, tooLong, unsupported, withValue } from '../../schema/refs.ts'
import { type Condition, validateConditions } from '../shapes/meta.ts'
import { readStub } from './pod-request-rules.ts'
import type { PodCertificateRequestSpec, PodCertificateRequestStatus } from './podcertificaterequest.ts'

const MAX_CHAIN_BYTES = 100 * 1024
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** How far the clock of a signer may be off. */
const SKEW = 5 * MINUTE
/** There is at least this much time between the ends of a certificate's validity and the begin of its refreshing. */
const MARGIN = 10 * MINUTE

const ENDS: readonly string[] = ['Issued', 'Denied', 'Failed']

export type PodRequestChange = {
  readonly old: PodCertificateRequestStatus
  readonly spec: PodCertificateRequestSpec
  readonly now: Date
}

/** Rules on a write of the status. Each looks at what the one before has let pass, so the first that finds something ends it. */
export function* validatePodRequestStatus(
  status: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
  { old, spec, now }: PodRequestChange,
): Iterable<FieldError> {
  const wrong = [...validateEnds(status.conditions ?? []), ...validateConditions(status.conditions, at.conditions)]
  if (wrong.length > 0) return yield* wrong
  const unchanged = deepEqual(status, old)
  if (endOf(old)) {
    if (!unchanged) yield invalidUnshown(at, 'immutable after PodCertificateRequest is issued, denied, or failed')
    return
  }
  switch (endOf(status)) {
    case 'Issued':
      return yield* firstOf(validateIssue(status, at, { spec, now }))
    case 'Denied':
    case 'Failed':
      if (status.certificateChain || status.notBefore || status.beginRefreshAt || status.notAfter)
        yield invalidUnshown(at, 'non-condition status fields must be empty when denying or failing the PodCertificateRequest')
      return
    default:
      if (!unchanged) yield invalidUnshown(at, 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"')
  }
}

const endOf = ({ conditions = [] }: PodCertificateRequestStatus) => conditions.find(({ type }) => ENDS.includes(type))?.type

/** Nothing but one of the ends, and that for true. The odd paths are those that clients have always been told. */
function* validateEnds(conditions: readonly Condition[]): Iterable<FieldError> {
  let ends = 0
  for (const [i, { type, status }] of conditions.entries()) {
    const field = (name: 'type' | 'status') => refTo(conditions[i]![name], `status.conditions.[${i}].${name}`)
    if (!ENDS.includes(type)) {
      yield unsupported(field('type'), ...ENDS)
      continue
    }
    ends++
    if (ends > 1) yield invalid(field('type'), 'There may be at most one condition with type "Issued", "Denied", or "Failed"')
    if (status !== 'True') yield unsupported(field('status'), 'True')
  }
}

type Findings = readonly FieldError[]

/** What the first step that finds something has found. */
function* firstOf(steps: Iterable<Findings>): Iterable<FieldError> {
  for (const found of steps) if (found.length > 0) return yield* found
}

function* validateIssue(
  status: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
  { spec, now }: Omit<PodRequestChange, 'old'>,
): Iterable<Findings> {
  const { certificateChain = '', notBefore, notAfter, beginRefreshAt } = status
  const chain = withValue(at.certificateChain, certificateChain)
  if (Buffer.byteLength(certificateChain) > MAX_CHAIN_BYTES) yield [tooLong(chain, MAX_CHAIN_BYTES)]
  const [leaf, ...intermediates] = pemBlocks(certificateChain).blocks
  if (!leaf) return yield [invalid(chain, 'issued certificate chain must contain at least one certificate')]
  if (leaf.label !== 'CERTIFICATE') yield [invalid(chain, 'issued certificate chain must consist entirely of CERTIFICATE PEM blocks')]
  const certificate = certificateIn(leaf.bytes)
  if (!certificate) return yield [invalid(chain, 'leaf certificate does not parse as valid X.509')]
  const names = [...validateNames(certificate, at.certificateChain)]
  const wanted = readStub(spec.stubPKCS10Request)?.publicKeyInfo
  if (!wanted?.equals(certificate.publicKeyInfo))
    yield [...names, invalid(chain, 'leaf certificate was not issued to the requested public key')]
  if (!notBefore || !notAfter || !beginRefreshAt) return yield [...names, ...missingTimes(status, at)]
  yield names
  yield* validateTimes({ notBefore, notAfter, beginRefreshAt }, at, { certificate, spec, now })
  for (const { label, bytes } of intermediates) {
    // The misspelling is what clients have always been told.
    if (label !== 'CERTIFICATE') yield [invalid(chain, 'issued certificate chain must consist entirely of CERTFICATE PEM blocks')]
    if (!certificateIn(bytes)) yield [invalid(chain, 'intermediate certificate does not parse as valid X.509')]
  }
}

function* missingTimes(
  { notBefore, notAfter, beginRefreshAt }: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
): Iterable<FieldError> {
  if (!notBefore) yield required(at.notBefore, 'must be present and consistent with the issued certificate')
  if (!notAfter) yield required(at.notAfter, 'must be present and consistent with the issued certificate')
  if (!beginRefreshAt) yield required(at.beginRefreshAt, 'must be present and in the range [notbefore+10min, notafter-10min]')
}

type Times = { readonly notBefore: string; readonly notAfter: string; readonly beginRefreshAt: string }
type Issue = { readonly certificate: Certificate; readonly spec: PodCertificateRequestSpec; readonly now: Date }

/** The status repeats the certificate's times, the certificate begins now and lives as asked, and is refreshed in its middle. */
function* validateTimes(times: Times, at: Ref<PodCertificateRequestStatus>, { certificate, spec, now }: Issue): Iterable<Findings> {
  const [begin, end, refresh] = [times.notBefore, times.notAfter, times.beginRefreshAt].map(text => millisecondsOf(parseTime(text))) as [
    number,
    number,
    number,
  ]
  if (begin !== certificate.notBefore.getTime())
    yield [invalid(at.notBefore, 'must be set to the NotBefore time encoded in the leaf certificate')]
  if (Math.abs(begin - now.getTime()) >= SKEW)
    yield [invalid(at.notBefore, "must be set to within 5 minutes of kube-apiserver's current time")]
  if (end !== certificate.notAfter.getTime())
    yield [invalid(at.notAfter, 'must be set to the NotAfter time encoded in the leaf certificate')]
  const lifetime = certificate.notAfter.getTime() - certificate.notBefore.getTime()
  const shown = withValue(at.certificateChain, lifetime * 1e6)
  if (lifetime < HOUR) yield [invalid(shown, 'leaf certificate lifetime must be >= 1 hour')]
  if (lifetime > spec.maxExpirationSeconds * 1000)
    yield [invalid(shown, `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${spec.maxExpirationSeconds})`)]
  if (refresh < begin + MARGIN) yield [invalid(at.beginRefreshAt, 'must be at least 10 minutes after status.notBefore')]
  if (refresh > end - MARGIN) yield [invalid(at.beginRefreshAt, 'must be at least 10 minutes before status.notAfter')]
}

/** Names that some libraries would read in a dangerous way. */
function* validateNames({ dnsNames, emailAddresses }: Certificate, at: Ref<string>): Iterable<FieldError> {
  for (const name of dnsNames) {
    const here = withValue(at, name)
    if (name === '') yield invalid(here, 'leaf certificate should not contain empty DNSName')
    if (name.includes('..')) yield invalid(here, "leaf certificate's DNSName should not contain '..'")
    if (name.startsWith('.') || name.endsWith('.')) yield invalid(here, "leaf certificate's DNSName should not start or end with '.'")
  }
  for (const address of emailAddresses)
    if (!EMAIL_ADDRESS.test(address)) yield invalid(withValue(at, address), 'leaf certificate should not contain invalid EmailAddress')
}

const EMAIL_ADDRESS = /^(?:[^\s@<>()[\]:;,\\".]+(?:\.[^\s@<>()[\]:;,\\".]+)*|"(?:[^"\\]|\\.)*")@[^\s@<>()[\]:;,\\"]+$/

function certificateIn(der: Buffer): Certificate | undefined {
  try {
    return readCertificate(der)
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}
