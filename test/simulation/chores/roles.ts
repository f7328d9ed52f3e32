/** A permission holds once it is acknowledged, and no longer once its revocation is. */
import { monotonicMs } from '../../../src/lib/environment.ts'
import { ask, BEHIND_MS, type Chore, insist, isUnknown, make, rest, type Stage } from './chore.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/roles'
const BINDING = `${RBAC}/rolebindings/bob`
const PATH = '/api/v1/namespaces/roles/secrets'
const API = { apiGroup: 'rbac.authorization.k8s.io' }

export const roles: Chore = {
  name: 'roles',
  async prepare({ connection }) {
    await make(connection, '/api/v1/namespaces', { metadata: { name: 'roles' } })
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create'] }]
    await make(connection, `${RBAC}/roles`, { metadata: { name: 'reader' }, rules })
  },
  async work(stage) {
    const { connection } = stage
    const binding = {
      metadata: { name: 'bob' },
      subjects: [{ kind: 'User', name: 'bob', ...API }],
      roleRef: { kind: 'Role', name: 'reader', ...API },
    }
    while (!stage.stop.aborted) {
      const granted = await insist(connection, { method: 'POST', path: `${RBAC}/rolebindings`, body: binding })
      if (granted.status === 201) await checkAccess(stage, true)
      const revoked = await ask(connection, { method: 'DELETE', path: BINDING })
      if (!isUnknown(revoked) && revoked!.status === 200) await checkAccess(stage, false)
      await rest(stage, 200)
    }
  },
  async check() {},
}

/** Requests that begin now are decided by the acknowledged roles. */
async function checkAccess(stage: Stage, isAllowed: boolean): Promise<void> {
  const { random, broken } = stage
  const bob = stage.as('bob')
  const begin = monotonicMs()
  for (let i = 0; i < 6 && !stage.stop.aborted; i++) {
    // Another server may decide about a write by the roles of a moment ago.
    const isRead = monotonicMs() - begin <= BEHIND_MS || random.oneIn(2)
    const request = isRead ? { method: 'GET', path: PATH } : { method: 'POST', path: PATH, body: { metadata: { generateName: 'b-' } } }
    const answer = await ask(bob, request)
    if (!isUnknown(answer) && (answer!.status === 403) === isAllowed)
      broken(`${request.method} was answered with ${answer!.status} after the permission was ${isAllowed ? 'granted' : 'revoked'}`)
    await rest(stage, 30)
  }
}
