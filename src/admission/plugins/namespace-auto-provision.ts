/** NamespaceAutoProvision: creates the namespace of an object that is created. */
import type { AnyObject } from '../../schema/object-meta.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'

export type NamespaceAutoProvisionParts = {
  readonly namespace: (name: string) => AnyObject | undefined
  /** Rejects with a StatusError. */
  readonly createNamespace: (name: string) => Promise<unknown>
}

export const namespaceAutoProvision = ({ namespace: find, createNamespace }: NamespaceAutoProvisionParts): Plugin => ({
  name: 'NamespaceAutoProvision',
  *mutate(attributes) {
    const { operation, namespace, kind, dryRun } = attributes
    const isNamespace = kind.group === '' && kind.kind === 'Namespace'
    if (operation !== 'CREATE' || dryRun || namespace === '' || isNamespace || find(namespace)) return
    try {
      yield createNamespace(namespace)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      // Another request may have created it meanwhile.
      if (error.reason !== 'AlreadyExists') throw forbidden(attributes, error.message)
    }
  },
})
