/** Read: one object as it is stored, or one of its views. */
import { keyOf } from '../schema/resource.ts'
import { notFound } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { decodeStored } from './change.ts'
import type { Deps } from './deps.ts'
import { servedJson } from './forms.ts'
import { parseRevision, waitForRevision } from './revision.ts'

export async function read(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { resource, namespace, name, query } = call
  const asked = parseRevision(query.get('resourceVersion') ?? '')
  const failure = asked > deps.caches.revision ? await waitForRevision(deps.caches, asked, ctx.signal) : undefined
  if (failure) throw failure
  const version = deps.caches.of(resource).get(keyOf(resource, namespace, name))
  if (!version) throw notFound(resource, name)
  if (version.fault !== undefined) decodeStored(resource, version)
  const json = resource.hub ? await servedJson(resource, version.json) : version.json
  return { form: 'object', code: 200, resource, json, warnings: [] }
}
