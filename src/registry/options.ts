/** The query parameters of each verb, read and checked before anything else happens. */
import { goQuote } from '../lib/go-text.ts'
import { validateFieldManager } from '../schema/meta-rules.ts'
import { type FieldError, forbidden, invalid, type Ref, refTo, required, unsupported } from '../schema/refs.ts'
import type { RequestContext } from '../schema/request-context.ts'
import { type FieldTerms, type LabelTerms, parseFieldSelector, parseLabelSelector } from '../schema/selectors.ts'
import { badRequest, invalidObject } from '../schema/status-error.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'
export type WriteOptions = {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  /** Whether an apply takes over conflicting fields; undefined when the request does not say. */
  readonly force: boolean | undefined
}

/** Errors about options name the API group of their kinds, which depends on the domain of the server. */
type Reading = { readonly groupDomain: string }

/** Options of create, replace and patch; `kind` names them in errors. */
export function writeOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  { groupDomain, isApply = false }: Reading & { readonly isApply?: boolean },
): WriteOptions {
  if (query.size === 0 && !isApply) return NO_OPTIONS
  const dryRun = query.getAll('dryRun')
  const fieldManager = query.get('fieldManager') ?? ''
  const fieldValidation = query.get('fieldValidation') ?? ''
  const force = flag(query, 'force')
  const errors: FieldError[] = []
  const at = refTo({ dryRun, fieldManager, fieldValidation, force })
  if (kind === 'PatchOptions') {
    if (isApply && fieldManager === '') errors.push(required(at.fieldManager, 'is required for apply patch'))
    if (!isApply && force !== undefined) errors.push(forbidden(at.force, 'may not be specified for non-apply patch'))
  }
  errors.push(...validateFieldManager(fieldManager, at.fieldManager), ...dryRunErrors(dryRun))
  if (!FIELD_VALIDATION.includes(fieldValidation)) errors.push(unsupported(at.fieldValidation, ...FIELD_VALIDATION))
  refuse({ groupDomain, kind }, errors)
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force,
  }
}
/** The options of a request without parameters. */
const NO_OPTIONS: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: undefined }
const FIELD_VALIDATION = ['', 'Ignore', 'Strict', 'Warn']

export type DeleteOptions = {
  readonly dryRun: boolean
  readonly gracePeriodSeconds: number | undefined
  readonly orphanDependents: boolean | undefined
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string }
  readonly ignoreReadErrors: boolean
  /** The options as they were sent, for admission. */
  readonly sent: DeleteBody
}
/** The body of a delete, as far as it was sent. */
export type DeleteBody = {
  readonly dryRun?: readonly string[]
  readonly gracePeriodSeconds?: number
  readonly orphanDependents?: boolean
  readonly propagationPolicy?: string
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean
}

/** The options of a delete, from its body or, without one, from the query. */
export function deleteOptions(
  query: URLSearchParams,
  body: DeleteBody | undefined,
  { groupDomain, gate }: Reading & Pick<RequestContext, 'gate'>,
): DeleteOptions {
  const sent: DeleteBody = body ?? {
    dryRun: query.getAll('dryRun'),
    ...present('gracePeriodSeconds', integer(query, 'gracePeriodSeconds')),
    ...present('orphanDependents', flag(query, 'orphanDependents')),
    ...present('propagationPolicy', query.get('propagationPolicy') || undefined),
    ...present('ignoreStoreReadErrorWithClusterBreakingPotential', flag(query, 'ignoreStoreReadErrorWithClusterBreakingPotential')),
  }
  const { dryRun = [], gracePeriodSeconds, orphanDependents, propagationPolicy, preconditions = {} } = sent
  const ignoreReadErrors = sent.ignoreStoreReadErrorWithClusterBreakingPotential === true && gate('AllowUnsafeMalformedObjectDeletion')
  const at = refTo({ propagationPolicy, ignoreStoreReadErrorWithClusterBreakingPotential: ignoreReadErrors })
  const errors: FieldError[] = []
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    errors.push(invalid(at.propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set'))
  if (propagationPolicy !== undefined && !PROPAGATION.includes(propagationPolicy))
    errors.push(unsupported(at.propagationPolicy, ...PROPAGATION, 'nil'))
  errors.push(...dryRunErrors(dryRun))
  if (ignoreReadErrors) errors.push(...unsafeDeleteErrors(sent, at.ignoreStoreReadErrorWithClusterBreakingPotential))
  refuse({ groupDomain, kind: 'DeleteOptions' }, errors)
  return {
    dryRun: dryRun.length > 0,
    gracePeriodSeconds,
    orphanDependents,
    propagationPolicy: propagationPolicy as DeleteOptions['propagationPolicy'],
    preconditions,
    ignoreReadErrors,
    sent,
  }
}
const PROPAGATION = ['Foreground', 'Background', 'Orphan']

/** A delete of an unreadable object skips everything else that a delete may ask for, so it must not ask. */
function* unsafeDeleteErrors(sent: DeleteBody, at: Ref<boolean>): Iterable<FieldError> {
  const clashes = [
    [sent.propagationPolicy, 'cannot be set together with .propagationPolicy'],
    [sent.orphanDependents, 'cannot be set together with .orphanDependents'],
    [sent.gracePeriodSeconds, 'cannot be set together with .gracePeriodSeconds'],
    [sent.preconditions, 'cannot be set together with .preconditions'],
  ] as const
  for (const [value, detail] of clashes) if (value !== undefined) yield invalid(at, detail)
}

export type ListOptions = {
  readonly labels: LabelTerms
  /** Whether the resource has these fields is not known yet. */
  readonly fields: FieldTerms
  readonly shardSelector: string
  /** No limit when undefined. */
  readonly limit: number | undefined
  readonly continue: string
  readonly resourceVersion: string
  readonly match: '' | 'Exact' | 'NotOlderThan'
  /** How long a watch may last, in milliseconds; below zero it ends at once. Undefined leaves it to the server. */
  readonly timeoutMs: number | undefined
  readonly bookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
}

/**
 * Options of list, watch and delete collection. The parameter `watch` alone decides which options may be combined: a watch by its
 * path is checked as a list, and sends the objects that are there without being asked for initial events.
 */
export function listOptions(
  query: URLSearchParams,
  { gate, groupDomain }: Reading & { readonly gate: (name: string) => boolean },
): ListOptions {
  const mayBegin = gate('WatchList')
  const isWatch = flag(query, 'watch') === true
  const resourceVersion = query.get('resourceVersion') ?? ''
  const token = query.get('continue') ?? ''
  // Parameters that cannot be parsed are reported first, in this order; then invalid combinations.
  const timeoutSeconds = int64(query, 'timeoutSeconds')
  const limit = integer(query, 'limit') ?? 0
  const labels = parseLabelSelector(query.get('labelSelector') ?? '')
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '')
  let sendInitialEvents = flag(query, 'sendInitialEvents')
  let match = query.get('resourceVersionMatch') ?? ''
  // A watch that names no version starts with the objects that are there.
  if (mayBegin && isWatch && sendInitialEvents === undefined && match === '' && (resourceVersion === '' || resourceVersion === '0')) {
    sendInitialEvents = true
    match = 'NotOlderThan'
  }
  const asked = { match, resourceVersion, token, sendInitialEvents, mayBegin }
  refuse({ groupDomain, kind: 'ListOptions' }, isWatch ? [...watchErrors(asked)] : [...listErrors(asked)])
  return {
    labels,
    fields,
    shardSelector: query.get('shardSelector') ?? '',
    limit: limit > 0 ? limit : undefined,
    continue: token,
    resourceVersion,
    match: match as ListOptions['match'],
    timeoutMs: timeoutSeconds === undefined ? undefined : durationMs(timeoutSeconds),
    bookmarks: flag(query, 'allowWatchBookmarks') === true,
    sendInitialEvents,
  }
}

type ListParameters = {
  readonly match: string
  readonly resourceVersion: string
  readonly token: string
  readonly sendInitialEvents: boolean | undefined
  /** Whether watches may ask for the objects that are there. */
  readonly mayBegin: boolean
}
const WITH_CONTINUE = 'resourceVersionMatch is forbidden when continue is provided'

function* listErrors({ match, resourceVersion, token, sendInitialEvents }: ListParameters): Iterable<FieldError> {
  const at = refTo({ resourceVersionMatch: match, sendInitialEvents })
  if (match !== '') {
    if (resourceVersion === '')
      yield forbidden(at.resourceVersionMatch, 'resourceVersionMatch is forbidden unless resourceVersion is provided')
    if (token !== '') yield forbidden(at.resourceVersionMatch, WITH_CONTINUE)
    if (match !== 'Exact' && match !== 'NotOlderThan') yield unsupported(at.resourceVersionMatch, 'Exact', 'NotOlderThan', '')
    if (match === 'Exact' && resourceVersion === '0')
      yield forbidden(at.resourceVersionMatch, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  if (sendInitialEvents !== undefined) yield forbidden(at.sendInitialEvents, 'sendInitialEvents is forbidden for list')
}

function* watchErrors({ match, token, sendInitialEvents, mayBegin }: ListParameters): Iterable<FieldError> {
  const at = refTo({ resourceVersionMatch: match, sendInitialEvents })
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    yield forbidden(at.resourceVersionMatch, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  if (sendInitialEvents !== undefined && !mayBegin)
    yield forbidden(at.sendInitialEvents, 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled')
  if (match === '') return
  if (sendInitialEvents === undefined)
    yield forbidden(at.resourceVersionMatch, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  if (match !== 'NotOlderThan') yield unsupported(at.resourceVersionMatch, 'NotOlderThan')
  if (token !== '') yield forbidden(at.resourceVersionMatch, WITH_CONTINUE)
}

function dryRunErrors(dryRun: readonly string[]): FieldError[] {
  return dryRun.every(value => value === 'All') ? [] : [unsupported(refTo({ dryRun }).dryRun, 'All')]
}

/** Refuses options that are not valid. */
export function refuse({ groupDomain, kind }: Reading & { readonly kind: string }, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject({ group: `meta.${groupDomain}`, kind }, '', errors)
}

/** Absent is undefined; anything but `false` and `0` is true, also nothing: so Kubernetes reads booleans in queries. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  return text !== '0' && text.toLowerCase() !== 'false'
}

const INT64 = 2n ** 63n

function int64(query: URLSearchParams, name: string): bigint | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const refused = (why: string) => badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: ${why}`)
  if (!/^[+-]?\d+$/.test(text)) throw refused('invalid syntax')
  const value = BigInt(text.replace('+', ''))
  if (value >= INT64 || value < -INT64) throw refused('value out of range')
  return value
}

const MIN_EXACT = BigInt(Number.MIN_SAFE_INTEGER)
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)

/** Numbers beyond the exact integers are clamped to the largest of them. */
function integer(query: URLSearchParams, name: string): number | undefined {
  const value = int64(query, name)
  return value === undefined ? undefined : Number(value < MIN_EXACT ? MIN_EXACT : value > MAX_EXACT ? MAX_EXACT : value)
}

/** Zero seconds are none. Kubernetes counts nanoseconds in 64 bits, so some hundreds of years overflow to a negative time. */
function durationMs(seconds: bigint): number | undefined {
  const nanoseconds = BigInt.asIntN(64, seconds * 1_000_000_000n)
  return nanoseconds === 0n ? undefined : Number(nanoseconds) / 1e6
}

const present = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { [P in K]?: V })
