/** Audit events: the record of a request at one of its stages, as kube-apiserver writes it. */
import { goQuote } from '../lib/go-text.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { microTimestampOf } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Annotations } from './annotations.ts'
import { escaped, escapedJson, quoted } from './escaped-json.ts'
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

/** The facts about a request that all of its events share. */
export type AuditedRequest = {
  readonly level: Level
  /** Letters, digits and `_.:-`. */
  readonly auditID: string
  readonly requestURI: string
  readonly verb: string
  readonly user: User | undefined
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  /** When it was received, in milliseconds since the epoch. */
  readonly receivedAt: number
}

/** The user as whom a request goes on, and the verb by which that was allowed if it was constrained. */
export type Impersonated = { readonly user: User; readonly constraint: string | undefined }

export type AuditEvent = {
  readonly request: AuditedRequest
  readonly stage: Stage
  /** When the request reached the stage, in milliseconds since the epoch. */
  readonly reachedAt: number
  readonly impersonated: Impersonated | undefined
  readonly objectRef: ObjectReference | undefined
  readonly responseStatus: ResponseStatus | undefined
  /** Bodies, as JSON texts. */
  readonly requestObject: string | undefined
  readonly responseObject: string | undefined
  readonly annotations: Annotations
  /** The annotations of the event of its stage RequestReceived, where that is written together with this one, before it. */
  readonly receivedWith?: Annotations | undefined
}

/** An event by itself, after the one that comes with it. */
export function eventsOf(event: AuditEvent): readonly AuditEvent[] {
  const { receivedWith, ...alone } = event
  if (receivedWith === undefined) return [event]
  const received: AuditEvent = {
    request: event.request,
    stage: 'RequestReceived',
    reachedAt: event.request.receivedAt,
    impersonated: undefined,
    objectRef: event.objectRef,
    responseStatus: undefined,
    requestObject: undefined,
    responseObject: undefined,
    annotations: receivedWith,
  }
  return [received, alone]
}

export const EVENT_VERSION = 'audit.k8s.io/v1'

/** One event as JSON. */
export const eventJson = (event: AuditEvent): string => `{"kind":"Event","apiVersion":"${EVENT_VERSION}",${eventFields(event)}}`

/** Several events as the body of a call to a webhook; items of a list name no kind. */
export function eventListJson(events: readonly AuditEvent[]): string {
  const items = events.map(event => `{${eventFields(event)}}`).join(',')
  return `{"kind":"EventList","apiVersion":"${EVENT_VERSION}","metadata":{},"items":[${items}]}\n`
}

/** The fields in the order of Go's type. */
function eventFields(event: AuditEvent): string {
  const { request, impersonated, objectRef, responseStatus } = event
  const { sourceIPs, userAgent } = request
  let text = `"level":"${request.level}","auditID":"${request.auditID}","stage":"${event.stage}"`
  text += `,"requestURI":${quoted(request.requestURI)},"verb":${quoted(request.verb)},"user":${userJson(request.user)}`
  if (impersonated) text += `,"impersonatedUser":${userJson(impersonated.user)}`
  if (impersonated?.constraint) text += `,"authenticationMetadata":{"impersonationConstraint":${quoted(impersonated.constraint)}}`
  if (sourceIPs.length > 0) text += `,"sourceIPs":[${sourceIPs.map(quoted).join(',')}]`
  if (userAgent !== '') text += `,"userAgent":${quoted(userAgent)}`
  if (objectRef) text += `,"objectRef":${referenceJson(objectRef)}`
  if (responseStatus) text += `,"responseStatus":${statusJson(responseStatus)}`
  if (event.requestObject !== undefined) text += `,"requestObject":${escaped(event.requestObject)}`
  if (event.responseObject !== undefined) text += `,"responseObject":${escaped(event.responseObject)}`
  text += `,"requestReceivedTimestamp":"${microTimestampOf(request.receivedAt)}"`
  return `${text},"stageTimestamp":"${microTimestampOf(event.reachedAt)}"${event.annotations.json}`
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
  return escapedJson({
    ...(name !== '' && { username: name }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(keys.length > 0 && { extra: Object.fromEntries(keys.map(key => [key, [...extra[key]!]])) }),
  })
}

const REFERENCE_FIELDS = ['resource', 'namespace', 'name', 'uid', 'apiGroup', 'apiVersion', 'resourceVersion', 'subresource'] as const

function referenceJson(reference: ObjectReference): string {
  let text = ''
  for (const field of REFERENCE_FIELDS) if (reference[field]) text += `,"${field}":${quoted(reference[field])}`
  return `{${text.slice(1)}}`
}

function statusJson(outcome: ResponseStatus): string {
  const { status, message, reason, details, code } = outcome
  if (isCodeAlone(outcome)) return `{"metadata":{},"code":${code}}`
  return escapedJson({
    metadata: {},
    ...(status && { status }),
    ...(message && { message }),
    ...(reason && { reason }),
    ...(details && { details }),
    code,
  })
}

/** Whether the response was no `Status`. */
export const isCodeAlone = ({ status, message, reason, details }: ResponseStatus): boolean => !status && !message && !reason && !details

/** One event as a line of text, the format `legacy`. */
export function eventLine({ request, stage, impersonated, objectRef, responseStatus }: AuditEvent): string {
  const { user } = request
  const listed = (groups: readonly string[]) => groups.map(goQuote).join(',')
  const fields = [
    ['id', request.auditID],
    ['stage', stage],
    ['ip', request.sourceIPs[0] ?? '<unknown>'],
    ['method', request.verb],
    ['user', user?.name || '<none>'],
    ['groups', user?.name && user.groups.length > 0 ? listed(user.groups) : '<none>'],
    ['as', impersonated?.user.name ?? '<self>'],
    ['asgroups', impersonated ? listed(impersonated.user.groups) : '<lookup>'],
    ['user-agent', request.userAgent],
    ['namespace', objectRef?.namespace || '<none>'],
    ['uri', request.requestURI],
    ['response', responseStatus === undefined ? '<deferred>' : String(responseStatus.code)],
  ] as const
  const time = microTimestampOf(request.receivedAt).replace(/\.?0+Z$/, 'Z')
  return `${time} AUDIT: ${fields.map(([name, value]) => `${name}=${goQuote(value)}`).join(' ')}`
}
