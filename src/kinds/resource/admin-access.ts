/** Administrative access to devices, in parallel to other users, is allowed only in namespaces labelled for it. */

import { goQuote } from '../../lib/go-text.ts'
import { type FieldError, forbidden, internal, type Ref, refTo } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import type { DeviceRequest } from './claim-shapes.ts'

const LABEL = 'resource.kubernetes.io/admin-access'

/** The field path of the first request with adminAccess. In claims and in templates, Kubernetes reports a shorter path. */
export function adminRequestOf(requests: readonly DeviceRequest[]): Ref<boolean> | undefined {
  const index = requests.findIndex(({ exactly }) => exactly?.adminAccess)
  return index === -1 ? undefined : refTo(true, `spec.devices.requests[${index}].adminAccess`)
}

/** Rules for the first request with adminAccess at `at`. */
export function* validateAdminAccess(at: Ref<boolean>, namespace: string, ctx: RequestContext): Iterable<FieldError> {
  const found = ctx.namespace?.(namespace)
  if (!found) yield internal(at, `could not retrieve namespace to verify admin access: namespaces ${goQuote(namespace)} not found`)
  else if (found.metadata.labels?.[LABEL] !== 'true')
    yield forbidden(at, `admin access to devices requires the \`${LABEL}: true\` label on the containing namespace`)
}
