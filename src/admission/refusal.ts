/** How plugins reject a request, and which requests most of them are about. */
import type { PodSpec } from '../kinds/rules/pod/spec.ts'
import { forbiddenRequest, type StatusError } from '../schema/status-error.ts'
import type { Attributes } from './attributes.ts'

/** 403 with the name of the object, also of one that is being created, or the beginning of a name yet to be generated. */
export const forbidden = ({ resource, name, object }: Attributes, why: string): StatusError =>
  forbiddenRequest(resource, name || object?.metadata.name || object?.metadata.generateName || 'Unknown', why)

/** The spec of a pod that is written as such; undefined for everything else and for its subresources. */
export function podSpecOf({ operation, resource, subresource, object }: Attributes): PodSpec | undefined {
  const isPod = resource.group === '' && resource.plural === 'pods' && subresource === ''
  return isPod && (operation === 'CREATE' || operation === 'UPDATE') ? (object?.['spec'] as PodSpec | undefined) : undefined
}
