/** A small catalog for tests of discovery and OpenAPI: every variation of a kind, in few fields. */
import { Catalog } from '../../../src/registry/catalog.ts'
import { defineKind, type Kind } from '../../../src/schema/kind.ts'
import { resourceOf } from '../../../src/schema/resource.ts'
import {
  atomic,
  bool,
  bytes,
  double,
  int32,
  int64,
  intOrString,
  keyed,
  mapOf,
  message,
  microTime,
  oneOf,
  quantity,
  raw,
  set,
  string,
  time,
} from '../../../src/schema/types.ts'

const Reference = message('Reference', { name: [1, string.required(), 'The name.'], hash: [2, bytes, 'A hash.'] }).atomic()
const Port = message('Port', {
  number: [1, int32.min(1).max(65535).required(), 'The port.'],
  protocol: [2, oneOf('TCP', 'UDP').publishedDefault('TCP'), 'The protocol.'],
  name: [3, string.max(15), 'The name.'],
})
const Strategy = message('Strategy', { surge: [1, intOrString, 'How many more.'] })
const WidgetSpec = message('WidgetSpec', {
  replicas: [1, int32.optional(), 'How many.'],
  ports: [2, keyed(Port, 'number', 'protocol').mergedBy('number').max(10), 'Where it listens.'],
  tags: [3, set(string).mergedBy(), 'Tags.'],
  steps: [4, atomic(string), 'Steps.'],
  selector: [5, mapOf(string).atomic(), 'What it selects.'],
  limits: [6, mapOf(quantity), 'The requests and limits of the container.'],
  strategy: [7, Strategy.orEmpty().retainingKeys(), 'How it changes.'],
  reference: [8, Reference, 'Another one.'],
  config: [9, raw, 'Anything.'],
  ratio: [10, double, 'A ratio.'],
  count: [11, int64.always(), 'A count.'],
  label: [12, string.always().omittable(), 'Written even when empty.'],
  ready: [13, bool, 'Whether it is ready.'],
})
const WidgetStatus = message('WidgetStatus', { since: [1, time.always(), 'Since when.'], seen: [2, microTime, 'When it was seen.'] })
const Approval = message('Approval', { reason: [2, string.required(), 'Why.'] })

/** `widgets.apps`: namespaced, with every kind of subresource. */
const widget = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'Widget',
  scope: 'Namespaced',
  names: { plural: 'widgets', short: ['wi'], categories: ['all'] },
  doc: 'A widget.',
  spec: WidgetSpec,
  status: WidgetStatus,
  subresources: {
    status: {},
    scale: { replicas: () => 0, setReplicas: () => {}, observed: () => 0, selector: () => '' },
    updates: { finalize: { verbs: ['update'] } },
    creates: {
      approval: {
        input: { group: 'policy.{group_domain}', version: 'v1', kind: 'Approval', type: Approval },
        verbs: ['create'],
        review: async (_, input) => ({ object: input }),
      },
    },
    connect: {
      log: { kind: 'Widget', verbs: ['get'], isRead: true },
      attach: { kind: 'WidgetAttachOptions', verbs: ['create', 'get'], options: { tty: [1, bool], ports: [2, atomic(int32)] } },
      proxy: { kind: 'WidgetProxyOptions', verbs: ['create', 'delete', 'get', 'update'], options: { path: [1, string] } },
    },
  },
})

/** `ingresses.networking.k8s.io` with two fields. */
const ingress = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'Ingress',
  scope: 'Namespaced',
  names: { plural: 'ingresses', short: ['ing'] },
  spec: message('IngressSpec', { port: [1, Port, 'Shared with another group.'] }),
  subresources: { status: {} },
})

/** The same resource in two versions, stored in the older. */
const bundle = (version: string) =>
  defineKind({
    group: 'certificates.{group_domain}',
    version,
    kind: 'ClusterTrustBundle',
    scope: 'Cluster',
    names: { plural: 'clustertrustbundles' },
    spec: message('ClusterTrustBundleSpec', { trustBundle: [1, string.required(), 'Certificates.'] }),
    storedAs: { version: 'v1beta1' },
  })

/** A core kind with all content beside spec and status, without deletecollection. */
const note = defineKind({
  group: '',
  version: 'v1',
  kind: 'Note',
  scope: 'Cluster',
  names: { plural: 'notes' },
  fields: { ports: [2, atomic(Port), 'Shared with other groups.'], text: [3, string, 'The text.'] },
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
})

/** A review, which is never stored. */
const review = defineKind({
  group: 'authorization.{group_domain}',
  version: 'v1',
  kind: 'Review',
  scope: 'Cluster',
  names: { plural: 'reviews' },
  fields: { allowed: [2, bool.always(), 'Whether it is allowed.'] },
  verbs: ['create'],
})

/** A kind of another domain. */
export const cronTab = defineKind({
  group: 'stable.example.com',
  version: 'v1',
  kind: 'CronTab',
  scope: 'Namespaced',
  names: { plural: 'crontabs' },
  fields: { cron: [2, string, 'When.'] },
})

/** All of them, unsorted. */
export function smallCatalog(groupDomain = 'k8s.io'): Catalog {
  const kinds: readonly Kind<any>[] = [cronTab, review, bundle('v1beta1'), bundle('v1'), note, ingress, widget]
  return new Catalog(kinds.map(kind => resourceOf(kind, groupDomain)))
}
