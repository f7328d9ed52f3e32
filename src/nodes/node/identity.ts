/** The identity of a simulated node: the user of its kubelet, with the rights of a kubelet. */
import type { Identity } from '../../client/identity.ts'

export const nodeIdentity = (name: string): Identity => ({
  user: { name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] },
  manager: 'kubelet',
})
