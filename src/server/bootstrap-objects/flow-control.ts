/** The priority levels and flow schemas that every server has. */
import type { Caches } from '../../cache/caches.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { FlowSchema } from '../../kinds/flowcontrol/flowschema.ts'
import { PriorityLevelConfiguration } from '../../kinds/flowcontrol/prioritylevelconfiguration.ts'
import { newUuid } from '../../lib/environment.ts'
import { deepEqual, type Json } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { type Seed, seed } from '../../registry/seed.ts'
import type { Envelope } from '../../schema/object-meta.ts'

export type FlowControlParts = { readonly caches: Caches; readonly client: Client; readonly groupDomain: string }

/** Another value than `true` keeps the stored spec. */
const AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec'
const PRODUCER = 'api-priority-and-fairness-config-producer-v1'
const CONSUMER = 'api-priority-and-fairness-config-consumer-v1'

type Limits = { readonly shares: number; readonly lendable: number; readonly queues?: number; readonly hand?: number }

/** The shares of each level; without queues requests beyond them are refused. */
const LIMITED: Readonly<Record<string, Limits>> = {
  'catch-all': { shares: 5, lendable: 0 },
  system: { shares: 30, lendable: 33, queues: 64, hand: 6 },
  'node-high': { shares: 40, lendable: 25, queues: 64, hand: 6 },
  'leader-election': { shares: 10, lendable: 0, queues: 16, hand: 4 },
  'workload-high': { shares: 40, lendable: 50, queues: 128, hand: 6 },
  'workload-low': { shares: 100, lendable: 90, queues: 128, hand: 6 },
  'global-default': { shares: 20, lendable: 50, queues: 128, hand: 6 },
}

function* levels(): Iterable<[name: string, spec: object]> {
  yield ['exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }]
  for (const [name, { shares, lendable, queues, hand }] of Object.entries(LIMITED)) {
    const limitResponse = queues ? { type: 'Queue', queuing: { queues, handSize: hand, queueLengthLimit: 50 } } : { type: 'Reject' }
    yield [name, { type: 'Limited', limited: { nominalConcurrencyShares: shares, limitResponse, lendablePercent: lendable } }]
  }
}

const group = (name: string) => ({ kind: 'Group', group: { name } })
const user = (name: string) => ({ kind: 'User', user: { name } })
const EVERYBODY = [group('system:unauthenticated'), group('system:authenticated')]
const NODES = [group('system:nodes')]
const SYSTEM_ACCOUNTS = { kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } }

const rule = (verbs: string[], apiGroups: string[], resources: string[], clusterScope?: true) => ({
  verbs,
  apiGroups,
  resources,
  ...(clusterScope && { clusterScope }),
  namespaces: ['*'],
})
const EVERYTHING = {
  resourceRules: [rule(['*'], ['*'], ['*'], true)],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}

type Flow = { readonly level: string; readonly precedence: number; readonly by?: 'ByUser' | 'ByNamespace'; readonly rules: object }

/** Flow schemas by name, in the order of their precedence. */
function flows(groupDomain: string): Readonly<Record<string, Flow>> {
  const leases = (...verbs: string[]) => rule(verbs, [`coordination.${groupDomain}`], ['leases'])
  const [manager, scheduler] = [user('system:kube-controller-manager'), user('system:kube-scheduler')]
  const probes = [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }]
  const nodeHealth = [rule(['*'], [''], ['nodes', 'nodes/status'], true), leases('*')]
  const electing = { subjects: [manager, scheduler, SYSTEM_ACCOUNTS], resourceRules: [leases('get', 'create', 'update')] }
  const all = (...subjects: object[]) => ({ subjects, ...EVERYTHING })
  return {
    exempt: { level: 'exempt', precedence: 1, rules: all(group('system:masters')) },
    probes: { level: 'exempt', precedence: 2, rules: { subjects: EVERYBODY, nonResourceRules: probes } },
    'system-leader-election': { level: 'leader-election', precedence: 100, by: 'ByUser', rules: electing },
    'system-node-high': { level: 'node-high', precedence: 400, by: 'ByUser', rules: { subjects: NODES, resourceRules: nodeHealth } },
    'system-nodes': { level: 'system', precedence: 500, by: 'ByUser', rules: all(...NODES) },
    'kube-controller-manager': { level: 'workload-high', precedence: 800, by: 'ByNamespace', rules: all(manager) },
    'kube-scheduler': { level: 'workload-high', precedence: 800, by: 'ByNamespace', rules: all(scheduler) },
    'kube-system-service-accounts': { level: 'workload-high', precedence: 900, by: 'ByNamespace', rules: all(SYSTEM_ACCOUNTS) },
    'service-accounts': { level: 'workload-low', precedence: 9000, by: 'ByUser', rules: all(group('system:serviceaccounts')) },
    'global-default': { level: 'global-default', precedence: 9900, by: 'ByUser', rules: all(...EVERYBODY) },
    'catch-all': { level: 'catch-all', precedence: 10_000, by: 'ByUser', rules: all(...EVERYBODY) },
  }
}

/** Creates missing objects, and restores the spec of those that the server maintains. */
export async function ensureFlowControl({ caches, client, groupDomain }: FlowControlParts): Promise<void> {
  const producer = client.as({ ...client.identity, manager: PRODUCER })
  const [levelObjects, flowObjects] = [producer.of(PriorityLevelConfiguration), producer.of(FlowSchema)]
  const seeds: Seed[] = []
  const changes: Promise<unknown>[] = []
  const ensure = <O extends Envelope & { spec: unknown }>(objects: ResourceClient<O>, name: string, { spec, status }: Contents) => {
    const stored = objects.get({ name })
    if (!stored) {
      const metadata = { name, generation: 1, annotations: { [AUTO_UPDATE]: 'true' } }
      seeds.push({
        resource: objects.resource,
        object: { metadata, spec, status },
        statusManager: CONSUMER,
      })
    } else if (stored.metadata.annotations?.[AUTO_UPDATE] === 'true' && !deepEqual(stored.spec as Json, spec as Json))
      changes.push(objects.update({ ...stored, spec }))
  }
  const lastTransitionTime = timestampOf(client.now)
  for (const [name, spec] of levels()) ensure(levelObjects, name, { spec, status: {} })
  for (const [name, { level, precedence, by, rules }] of Object.entries(flows(groupDomain))) {
    const message = `This FlowSchema references the PriorityLevelConfiguration object named "${level}" and it exists`
    const spec = {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(by && { distinguisherMethod: { type: by } }),
      rules: [rules],
    }
    ensure(flowObjects, name, {
      spec,
      status: { conditions: [{ type: 'Dangling', status: 'False', lastTransitionTime, reason: 'Found', message }] },
    })
  }
  await Promise.all([seed(seeds, { caches, newUid: newUuid, now: client.now, manager: PRODUCER }), ...changes])
}

type Contents = { readonly spec: object; readonly status: object }
