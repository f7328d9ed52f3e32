/** Pod groups get a finalizer, so that none is removed while it has pods. */
import type { Plugin } from '../plugin.ts'
import { addFinalizer } from './storage-object-in-use-protection.ts'

export const PROTECTION_FINALIZER = 'scheduling.k8s.io/podgroup-protection'

export const podGroupProtection = (groupDomain: string, gate: (name: string) => boolean): Plugin => ({
  name: 'PodGroupProtection',
  plurals: ['podgroups'],
  mutate({ operation, resource, subresource, object }) {
    if (operation !== 'CREATE' || subresource !== '' || resource.group !== `scheduling.${groupDomain}`) return
    if (resource.plural === 'podgroups' && object && gate('GenericWorkload')) addFinalizer(object, PROTECTION_FINALIZER)
  },
})
