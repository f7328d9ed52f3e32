/** The user and the field manager of a component of the server. */
import type { User } from '../schema/user.ts'

export type Identity = {
  readonly user: User
  /** The field manager of its writes. */
  readonly manager: string
}

/** The server itself: what it does needs no permission. */
export const serverIdentity = (manager = 'kube-apiserver'): Identity => ({
  user: { name: 'system:apiserver', groups: ['system:masters'] },
  manager,
})

/** The administrator, who may do everything. */
export const ADMIN: Identity = {
  user: { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
  manager: 'keelson',
}

/** kube-controller-manager, for the controllers that have no service account of their own. */
export const CONTROLLER_MANAGER: Identity = {
  user: { name: 'system:kube-controller-manager', groups: ['system:authenticated'] },
  manager: 'kube-controller-manager',
}

/** A controller: it has the rights that are bound to its service account in kube-system, and no others. */
export const controllerIdentity = (account: string): Identity => ({
  user: {
    name: `system:serviceaccount:kube-system:${account}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  },
  manager: 'kube-controller-manager',
})

/** kube-scheduler, with the rights that are bound to its user. */
export const SCHEDULER: Identity = {
  user: { name: 'system:kube-scheduler', groups: ['system:authenticated'] },
  manager: 'kube-scheduler',
}
