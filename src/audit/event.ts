/** Audit events: the record of a request at one of its stages, as kube-apiserver writes it. */
import { stringifyJson } from '../codec/json.ts'
import { goQuote } from '../lib/go-text.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { formatMicroTime, type Instant } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Level, Stage } from './policy.ts'

/** The object that a request is about. */
export type ObjectReference = {
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiGroup?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly subresource?: string
}

/** The outcome of a request; only the code where the response is no `Status`. */
export type ResponseStatus = {
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly details?: JsonObject
  readonly code: number
}

/** JSON that the events of one request share, made for the first of them. */
export type SharedJson = { before?: string; between?: string; received?: string }

export type AuditEvent = {
  /** Absent where the event is a copy with other fields. */
  readonly shared?: SharedJson | undefined
  readonly level: Level
  readonly auditID: string
  readonly stage: Stage
  readonly requestURI: string
  readonly verb: string
  readonly user: User | undefined
  readonly impersonatedUser: User | undefined
  /** The verb by which a constrained impersonation was allowed. */
  readonly impersonationConstraint: string | undefined
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  readonly objectRef: ObjectReference | undefined
  readonly responseStatus: ResponseStatus | undefined
  /** Bodies, as JSON texts. */
  readonly requestObject: string | undefined
  readonly responseObject: string | undefined
  readonly requestReceivedTimestamp: Instant
  readonly stageTimestamp: Instant
  readonly annotations: Readonly<Record<string, string>>
}

export const EVENT_VERSION = 'audit.k8s.io/v1'

/** One event as JSON, with its fields in the order of Go's type. */
export function eventJson(event: AuditEvent): string {
  return `{"kind":"Event","apiVersion":"${EVENT_VERSION}",${eventFields(event)}}`
}

/** Several events as the body of a call to a webhook; items of a list name no kind. */
export function eventListJson(events: readonly AuditEvent[]): string {
  const items = events.map(event => `{${eventFields(event)}}`).join(',')
  return `{"kind":"EventList","apiVersion":"${EVENT_VERSION}","metadata":{},"items":[${items}]}\n`
}

/** Go's encoder writes these characters as escapes; they can only be in strings. */
const escaped = (json: string): string =>
  UNSAFE.test(json) ? json.replace(ALL_UNSAFE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) : json
const UNSAFE = /[<>&\u2028\u2029]/
const ALL_UNSAFE = new RegExp(UNSAFE, 'g')

function eventFields(event: AuditEvent): string {
  const { responseStatus, requestReceivedTimestamp: received, stageTimestamp: reached } = event
  // The events of a request differ in their stage, their time and its outcome.
  const shared = event.shared ?? {}
  const before = (shared.before ??= `"level":"${event.level}","auditID":${quoted(event.auditID)},"stage":"`)
  const between = (shared.between ??= afterStage(event))
  const since = (shared.received ??= `,"requestReceivedTimestamp":"${formatMicroTime(received)}","stageTimestamp":"`)
  let text = before + event.stage + between
  if (responseStatus) text += `,"responseStatus":${statusJson(responseStatus)}`
  if (event.requestObject !== undefined) text += `,"requestObject":${escaped(event.requestObject)}`
  if (event.responseObject !== undefined) text += `,"responseObject":${escaped(event.responseObject)}`
  return `${text}${since}${formatMicroTime(reached)}"${annotationsJson(event.annotations)}`
}

function annotationsJson(annotations: AuditEvent['annotations']): string {
  const keys = Object.keys(annotations)
  if (keys.length === 0) return ''
  if (keys.length > 1) keys.sort()
  let text = ',"annotations":{'
  let separator = ''
  for (const key of keys) {
    text += `${separator}${known(key)}:${known(annotations[key]!)}`
    separator = ','
  }
  return `${text}}`
}

/** The middle of the events of a request that came before, and everything that it was made of except the address, which is the key. */
type KnownRequest = {
  readonly verb: string
  readonly user: User | undefined
  readonly sourceIP: string | undefined
  readonly userAgent: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  text: string
  isFlat: boolean
}

const knownRequests = new Map<string, KnownRequest>()
const MAX_KNOWN_REQUEST_LENGTH = 2000

/** Most clients send the same requests again and again: they poll, renew leases and update statuses. */
function afterStage(event: AuditEvent): string {
  const { requestURI, verb, user, sourceIPs, userAgent, objectRef } = event
  const [sourceIP] = sourceIPs
  const { namespace, name, uid, resourceVersion } = objectRef ?? {}
  const found = knownRequests.get(requestURI)
  const isPlain = !event.impersonatedUser && sourceIPs.length < 2 && !uid && !resourceVersion
  if (
    found?.verb === verb &&
    found.user === user &&
    found.sourceIP === sourceIP &&
    found.userAgent === userAgent &&
    found.namespace === namespace &&
    found.name === name &&
    isPlain
  ) {
    // The text is made of many parts, which the engine would join for every event.
    if (!found.isFlat) {
      found.text = Buffer.from(found.text).toString()
      found.isFlat = true
    }
    return found.text
  }
  const text = newAfterStage(event)
  if (isPlain && text.length <= MAX_KNOWN_REQUEST_LENGTH) {
    if (knownRequests.size >= MAX_KNOWN) knownRequests.clear()
    knownRequests.set(requestURI, { verb, user, sourceIP, userAgent, namespace, name, text, isFlat: false })
  }
  return text
}

function newAfterStage(event: AuditEvent): string {
  const { impersonatedUser, impersonationConstraint, sourceIPs, userAgent, objectRef } = event
  let text = `","requestURI":${quoted(event.requestURI)},"verb":${known(event.verb)},"user":${userJson(event.user)}`
  if (impersonatedUser) text += `,"impersonatedUser":${userJson(impersonatedUser)}`
  if (impersonationConstraint) text += `,"authenticationMetadata":{"impersonationConstraint":${quoted(impersonationConstraint)}}`
  if (sourceIPs.length > 0) text += `,"sourceIPs":[${sourceIPs.length === 1 ? known(sourceIPs[0]!) : sourceIPs.map(known).join(',')}]`
  if (userAgent !== '') text += `,"userAgent":${known(userAgent)}`
  if (objectRef) text += `,"objectRef":${referenceJson(objectRef)}`
  return text
}

const quoted = (text: string) => (PLAIN.test(text) ? `"${text}"` : escaped(stringifyJson(text)))
/** Texts without a character that JSON or Go writes as an escape. */
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/

/** Texts that come again and again: user agents, addresses, verbs, resources, reasons. */
const MAX_KNOWN = 2000
const MAX_KNOWN_LENGTH = 500
const knownTexts = new Map<string, string>()

function known(text: string): string {
  const found = knownTexts.get(text)
  if (found !== undefined) return found
  const json = quoted(text)
  if (text.length > MAX_KNOWN_LENGTH) return json
  if (knownTexts.size >= MAX_KNOWN) knownTexts.clear()
  knownTexts.set(text, json)
  return json
}

/** Authenticators return the same object for the same user. */
const knownUsers = new WeakMap<User, string>()

function userJson(user: User | undefined): string {
  if (user === undefined) return '{}'
  let json = knownUsers.get(user)
  if (json === undefined) knownUsers.set(user, (json = newUserJson(user)))
  return json
}

function newUserJson({ name, uid, groups, extra = {} }: User): string {
  const keys = Object.keys(extra).sort()
  const fields = {
    ...(name !== '' && { username: name }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(keys.length > 0 && { extra: Object.fromEntries(keys.map(key => [key, [...extra[key]!]])) }),
  }
  return escaped(stringifyJson(fields))
}

function referenceJson({ resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource }: ObjectReference): string {
  let text = ''
  if (resource) text += `,"resource":${known(resource)}`
  if (namespace) text += `,"namespace":${known(namespace)}`
  if (name) text += `,"name":${quoted(name)}`
  if (uid) text += `,"uid":${quoted(uid)}`
  if (apiGroup) text += `,"apiGroup":${known(apiGroup)}`
  if (apiVersion) text += `,"apiVersion":${known(apiVersion)}`
  if (resourceVersion) text += `,"resourceVersion":${quoted(resourceVersion)}`
  if (subresource) text += `,"subresource":${known(subresource)}`
  return `{${text.slice(1)}}`
}

function statusJson({ status, message, reason, details, code }: ResponseStatus): string {
  if (!status && !message && !reason && !details) return `{"metadata":{},"code":${code}}`
  const fields = {
    metadata: {},
    ...(status && { status }),
    ...(message && { message }),
    ...(reason && { reason }),
    ...(details && { details }),
    code,
  }
  return escaped(stringifyJson(fields))
}

/** One event as a line of text, the format `legacy`. */
export function eventLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, responseStatus } = event
  const listed = (groups: readonly string[]) => groups.map(goQuote).join(',')
  const fields = [
    ['id', event.auditID],
    ['stage', event.stage],
    ['ip', event.sourceIPs[0] ?? '<unknown>'],
    ['method', event.verb],
    ['user', user?.name || '<none>'],
    ['groups', user?.name && user.groups.length > 0 ? listed(user.groups) : '<none>'],
    ['as', impersonatedUser?.name ?? '<self>'],
    ['asgroups', impersonatedUser ? listed(impersonatedUser.groups) : '<lookup>'],
    ['user-agent', event.userAgent],
    ['namespace', objectRef?.namespace || '<none>'],
    ['uri', event.requestURI],
    ['response', responseStatus === undefined ? '<deferred>' : String(responseStatus.code)],
  ] as const
  const time = formatMicroTime(event.requestReceivedTimestamp).replace(/\.?0+Z$/, 'Z')
  return `${time} AUDIT: ${fields.map(([name, value]) => `${name}=${goQuote(value)}`).join(' ')}`
}
