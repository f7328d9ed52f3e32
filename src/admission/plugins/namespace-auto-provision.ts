/** NamespaceAutoProvision: the namespace of what is created is created with it. */
import type { AnyObject } from '../../schema/object-meta.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'

export type NamespaceAutoProvisionParts = {
  readonly namespace: (name: string) => AnyObject | undefined
  /** Rejects with a StatusError. */
  readonly createNamespace: (name: string) => Promise<unknown>
}

export const namespaceAutoProvision = ({ namespace: find, createNamespace }: NamespaceAutoProvisionParts): Plugin => ({
  name: 'NamespaceAutoProvision',
  mutate(attributes) {
    const { operation, namespace, kind, dryRun } = attributes
    const isNamespace = kind.group === '' && kind.kind === 'Namespace'
    if (operation === 'CREATE' && !dryRun && namespace !== '' && !isNamespace && !find(namespace))
      return createNamespace(namespace).then(() => {}, explain(attributes))
  },
})

/** Somebody else may have created it meanwhile. */
const explain = (attributes: Attributes) => (error: unknown) => {
  if (!(error instanceof StatusError)) throw error
  if (error.reason !== 'AlreadyExists') throw forbidden(attributes, error.message)
}
