/** NamespaceExists: nothing is written or deleted in a namespace that is not there. */
import type { AnyObject } from '../../schema/object-meta.ts'
import { notFound } from '../../schema/status-error.ts'
import type { Plugin } from '../plugin.ts'

export const namespaceExists = (find: (name: string) => AnyObject | undefined): Plugin => ({
  name: 'NamespaceExists',
  validate({ operation, resource, namespace }) {
    if (operation === 'CONNECT' || namespace === '' || (resource.group === '' && resource.kind === 'Namespace')) return
    if (!find(namespace)) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace)
  },
})
