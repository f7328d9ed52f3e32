/** Connect: paths such as exec and proxy, which the node that runs an object answers. They are admitted like writes. */

import { addressedBy } from '../lib/addressed-name.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Json, setOwn } from '../lib/json-value.ts'
import { type Step, waitFor } from '../lib/step.ts'
import { defineKind, type Verb } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type Resource, resourceOf } from '../schema/resource.ts'
import { badRequest, forbiddenRequest, notFound, notImplemented } from '../schema/status-error.ts'
import type { ConnectSubresource } from '../schema/subresources.ts'
import type { AnyType, Fields } from '../schema/types.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Request } from './request.ts'
import { decodeStored, findStored } from './stored-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

export function connect(request: Request): Step<Result> {
  const { call, ctx } = request
  const declared = call.resource.def.subresources!.connect![call.subresource]!
  if (!declared.isRead && call.query.has('dryRun')) throw badRequest('dryRun is not supported')
  const options = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore', force: undefined } as const
  const change = declared.isRead ? READ : CONNECT
  return runWrite(newWrite(request, { options, kind: optionsKind(call, declared, ctx), change }))
}

const CONNECT: Change = { effect: 'connect', decode: readOptions, store: answer }
/** A connection that only reads is not admitted. */
const READ: Change = { ...CONNECT, isAdmitted: true }

/** The query as an object of options: parameters that are unknown or empty are left out. */
function readOptions(write: Write): void {
  const { kind, call } = write
  const object = { kind: kind.kind, apiVersion: kind.apiVersion } as AnyObject
  for (const [name, [, type]] of Object.entries((kind.def.fields ?? {}) as Fields)) {
    const value = readOption(call.query.getAll(name), type)
    if (value !== undefined) setOwn(object, name, value)
  }
  write.object = object
}

function readOption(values: readonly string[], { shape }: AnyType): Json | undefined {
  const [first] = values
  if (first === undefined) return undefined
  if (shape.kind === 'list') return isText(shape.item) ? [...values] : values.flatMap(value => value.split(',')).map(portOf)
  if (shape.kind === 'scalar' && shape.name === 'bool') return first === '0' || first.toLowerCase() === 'false' ? undefined : true
  return first === '' ? undefined : first
}

const isText = ({ shape }: AnyType): boolean => shape.kind === 'scalar' && shape.name === 'string'

function portOf(text: string): number {
  const port = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (port <= 0xffff) return port
  const why = Number.isNaN(port) ? 'invalid syntax' : 'value out of range'
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`)
}

/** The node answers, for an object that is there. */
function* answer(write: Write): Step<void> {
  const { deps, call, ctx } = write
  const { resource, subresource, namespace, name } = call
  const { isAddressed, check, absent, needs } = resource.def.subresources!.connect![subresource]!
  if (needs && call.verb !== needs.verb && ctx.gate(needs.gate)) yield* authorizeVerb(needs.verb, write)
  const plain = isAddressed ? addressedBy(name)?.name : name
  if (plain === undefined) throw badRequest(`invalid ${resource.kind.toLowerCase()} request ${goQuote(name)}`)
  check?.(call.query, plain, ctx.gate)
  const found = findStored(deps, { resource, namespace, name: plain })
  if (!found) throw absent?.(name) ?? notFound(resource, plain)
  const object = decodeStored(resource, found)
  if (!deps.connect)
    throw notImplemented(`${resource.plural}/${subresource} is answered by the node that runs the object, and this server has no nodes`)
  write.result = yield* waitFor(deps.connect({ call, object, ctx }))
}

function* authorizeVerb(verb: Verb, { call, ctx }: Write): Step<void> {
  const reason = ctx.reasonAgainst && (yield* waitFor(ctx.reasonAgainst(verb)))
  if (reason !== undefined) throw forbiddenRequest(call.resource, call.name, reason)
}

const kinds = new WeakMap<ConnectSubresource, Resource>()

/** The options as if they were a resource. */
function optionsKind({ resource }: Call, declared: ConnectSubresource, { groupDomain }: CallContext): Resource {
  let found = kinds.get(declared)
  if (!found) {
    const { group, version } = resource.def
    const { kind, options = {} } = declared
    const names = { plural: kind.toLowerCase() }
    kinds.set(
      declared,
      (found = resourceOf(defineKind({ group, version, kind, scope: 'Namespaced', names, fields: options }), groupDomain)),
    )
  }
  return found
}
