/** Nothing is created in a namespace that is missing or terminating, and the built-in namespaces cannot be deleted. */
import type { AnyObject } from '../../schema/object-meta.ts'
import { forbiddenRequest, notFound, StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' }
const IMMORTAL = new Set(['default', 'kube-system', 'kube-public'])

/** `read` finds a namespace by its name. */
export function namespaceLifecycle(read: (name: string) => AnyObject | undefined): Plugin {
  return {
    name: 'NamespaceLifecycle',
    mutate(attributes: Attributes) {
      const { operation, resource, namespace, name, object } = attributes
      if (operation === 'DELETE' && resource.group === '' && resource.plural === NAMESPACES.plural && IMMORTAL.has(name))
        throw forbiddenRequest(NAMESPACES, name, 'this namespace may not be deleted')
      // An empty namespace is a fault of the object, which its rules report.
      if (operation !== 'CREATE' || !resource.namespaced || namespace === '' || isQuestion(resource)) return
      const found = read(namespace)
      if (!found) throw notFound(NAMESPACES, namespace)
      if (found.metadata.deletionTimestamp) throw terminating(resource, object?.metadata.name ?? '', namespace)
      // An object that is created while its namespace is being emptied would stay behind.
      attributes.needs(NAMESPACES, found)
    },
  }
}

/** Access reviews must not tell whether a namespace is there. */
const isQuestion = ({ group, plural }: Attributes['resource']) =>
  plural === 'localsubjectaccessreviews' && group.startsWith('authorization.')

function terminating(resource: Attributes['resource'], name: string, namespace: string): StatusError {
  const { message, details } = forbiddenRequest(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  )
  const cause = { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }
  return new StatusError(403, 'Forbidden', message, { ...details, causes: [cause] })
}
