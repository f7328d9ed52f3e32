/** Nodes without a kubelet, for tests of the scheduler: objects that say how much room there is. */
import assert from 'node:assert/strict'
import { ask, type Target } from '../kit.ts'

export async function create(server: Target, path: string, body: object): Promise<any> {
  const { status, json } = await ask(server, path, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json
}

type Room = { readonly cpu?: string; readonly labels?: object; readonly taints?: readonly object[] | null }

/** A node that is ready: every new one has a taint until somebody has seen that. */
export async function addNode(server: Target, name: string, { cpu = '2', labels = {}, taints = null }: Room = {}): Promise<void> {
  const amounts = { cpu, memory: '8Gi', pods: '110' }
  await create(server, '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    status: { allocatable: amounts, capacity: amounts },
  })
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status, text } = await ask(server, `/api/v1/nodes/${name}`, { method: 'PATCH', body: { spec: { taints } }, headers })
  assert.equal(status, 200, text)
}
