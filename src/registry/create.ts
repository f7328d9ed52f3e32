/** Create: stores the sent object if its name is free. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { badRequest } from '../schema/status-error.ts'
import { bodyOf, type Call, type CallContext, type Result } from './api.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { writeOptions } from './options.ts'
import { type Change, newWrite, wipeIdentity, write } from './write.ts'

export function create(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  return write(newWrite({ deps, call, ctx }, { options: writeOptions(call.query, 'CreateOptions', ctx), change: CREATE }))
}

const CREATE: Change = {
  does: 'create',
  decode(write) {
    const { call, ctx, options, kind } = write
    const { object, warnings } = decodeObject(kind, bodyOf(ctx), options.fieldValidation)
    settleNamespace(call, object)
    wipeIdentity(object)
    write.object = object
    write.warnings.push(...warnings)
  },
}

/** The namespace of an object is that of the path; the body may repeat it but not contradict it. Cluster-scoped objects have none, whatever the body says. */
export function settleNamespace(
  { resource, namespace }: { readonly resource: Resource; readonly namespace: string },
  { metadata }: AnyObject,
): void {
  const expected = resource.namespaced ? namespace : ''
  if (expected !== '' && metadata.namespace && metadata.namespace !== expected)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (expected !== '') metadata.namespace = expected
  else delete metadata.namespace
}
