import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Draft, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { Attributes, Decision } from '../../schema/access.ts'
import type { Kind } from '../../schema/kind.ts'
import { NodeGraph } from './graph.ts'
import { nodeAuthorizer } from './node-authorizer.ts'
import type { RelatingResource } from './relations.ts'

const REQUEST = { signal: new AbortController().signal }
const kubelet = (node: string) => ({ name: `system:node:${node}`, groups: ['system:nodes', 'system:authenticated'] })

class Nodes {
  readonly graph = new NodeGraph()
  readonly gates: string[] = ['PodCertificateRequest']

  put(plural: RelatingResource, object: any, namespace = object.metadata.namespace ?? ''): void {
    this.graph.put(plural, { namespace, name: object.metadata.name, read: () => object })
  }
  draft(plural: RelatingResource, kind: Kind<any>, draft: Draft): void {
    this.put(plural, withDefaults(kind, draft))
  }
  ask(text: string, user = kubelet('n'), more: { fieldSelector?: string } = {}): Decision {
    const [verb = '', path = ''] = text.split(' ')
    const [group = '', plural = '', namespace = '', name = '', subresource = ''] = path.split('/')
    const asked: Attributes = { verb, path: '', resource: { group, version: 'v1', plural, namespace, name, subresource, ...more } }
    const authorizer = nodeAuthorizer({ graph: this.graph, groupDomain: 'k8s.io', gate: name => this.gates.includes(name) })
    return authorizer.authorize(user, asked, REQUEST) as Decision
  }
  allows = (...args: Parameters<Nodes['ask']>): boolean => this.ask(...args).verdict === 'allow'
  reason = (...args: Parameters<Nodes['ask']>): string => {
    const { verdict, reason } = this.ask(...args)
    return verdict === 'allow' ? 'allowed' : (reason ?? '')
  }
}

const pod = (nodeName: string | undefined, spec: object = {}, more: object = {}) => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { ...(nodeName && { nodeName }), serviceAccountName: 'acc', containers: [{ name: 'c', image: 'i' }], ...spec },
  ...more,
})

test('a node may read what its own pods refer to, and nothing of others', () => {
  const nodes = new Nodes()
  const env = [
    { name: 'A', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } },
    { name: 'B', valueFrom: { configMapKeyRef: { name: 'env-map', key: 'k' } } },
  ]
  const envFrom = [{ secretRef: { name: 'from-secret' } }, { configMapRef: { name: 'from-map' } }]
  const volumes = [
    { name: 'a', secret: { secretName: 'vol-secret' } },
    { name: 'b', configMap: { name: 'vol-map' } },
    { name: 'c', projected: { sources: [{ secret: { name: 'part-secret' } }, { configMap: { name: 'part-map' } }] } },
    { name: 'd', persistentVolumeClaim: { claimName: 'claim' } },
    {
      name: 'e',
      ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } } } },
    },
  ]
  const resourceClaims = [
    { name: 'x', resourceClaimName: 'rc' },
    { name: 'y', resourceClaimTemplateName: 't' },
  ]
  const status = { resourceClaimStatuses: [{ name: 'y', resourceClaimName: 'made' }] }
  const containers = [{ name: 'c', image: 'i', env, envFrom }]
  nodes.draft('pods', Pod, pod('n', { containers, volumes, resourceClaims, imagePullSecrets: [{ name: 'pull' }] }, { status }))
  for (const secret of ['env-secret', 'from-secret', 'vol-secret', 'part-secret', 'pull'])
    for (const verb of ['get', 'list', 'watch']) assert.ok(nodes.allows(`${verb} /secrets/ns/${secret}`), secret)
  for (const map of ['env-map', 'from-map', 'vol-map', 'part-map']) assert.ok(nodes.allows(`get /configmaps/ns/${map}`), map)
  for (const claim of ['claim', 'p-e']) assert.ok(nodes.allows(`get /persistentvolumeclaims/ns/${claim}`), claim)
  for (const claim of ['rc', 'made']) assert.ok(nodes.allows(`get resource.k8s.io/resourceclaims/ns/${claim}`), claim)
  assert.ok(nodes.allows('patch /persistentvolumeclaims/ns/claim/status'))
  assert.ok(nodes.allows('get /serviceaccounts/ns/acc'))
  assert.ok(nodes.allows('create /serviceaccounts/ns/acc/token'))
  assert.ok(nodes.allows('get /pods/ns/p'))

  assert.equal(nodes.reason('get /secrets/ns/other'), "no relationship found between node 'n' and this object")
  assert.equal(nodes.reason('get /secrets/elsewhere/pull'), "no relationship found between node 'n' and this object")
  assert.equal(nodes.reason('get /secrets/ns/pull', kubelet('m')), "no relationship found between node 'm' and this object")
  assert.equal(nodes.reason('list /secrets/ns/'), 'No Object name found')
  assert.equal(nodes.reason('list /secrets//pull'), 'can only read namespaced object of this type')
  assert.equal(nodes.reason('update /secrets/ns/pull'), 'can only read resources of this type')
  assert.equal(nodes.reason('list /persistentvolumeclaims/ns/claim'), 'can only get individual resources of this type')
  assert.equal(nodes.reason('create /serviceaccounts/ns/other/token'), "no relationship found between node 'n' and this object")
  assert.equal(nodes.reason('create /serviceaccounts/ns/acc'), 'can only create token subresource of serviceaccount')
})

test('access begins when a pod is bound and ends with the pod', () => {
  const nodes = new Nodes()
  const withSecret = (node: string | undefined) => pod(node, { volumes: [{ name: 'a', secret: { secretName: 's' } }] })
  nodes.draft('pods', Pod, withSecret(undefined))
  assert.ok(!nodes.allows('get /secrets/ns/s'))
  nodes.draft('pods', Pod, withSecret('n'))
  assert.ok(nodes.allows('get /secrets/ns/s'))
  const twin = { ...withSecret('n'), metadata: { name: 'q', namespace: 'ns' } }
  nodes.draft('pods', Pod, twin)
  nodes.graph.remove('pods', { namespace: 'ns', name: 'p' })
  assert.ok(nodes.allows('get /secrets/ns/s'))
  nodes.graph.remove('pods', { namespace: 'ns', name: 'q' })
  assert.ok(!nodes.allows('get /secrets/ns/s'))
})

test('the service accounts of its pods may be read with one of two gates', () => {
  for (const [gates, isAllowed] of [
    [[], false],
    [['PodCertificateRequest'], true],
    [['KubeletServiceAccountTokenForCredentialProviders'], true],
  ] as const) {
    const nodes = new Nodes()
    nodes.gates.splice(0, 1, ...gates)
    nodes.draft('pods', Pod, pod('n'))
    assert.equal(nodes.allows('get /serviceaccounts/ns/acc'), isAllowed, gates.join())
  }
})

test('mirror pods, which nodes create themselves, give no access', () => {
  const nodes = new Nodes()
  const mirror = pod('n', { volumes: [{ name: 'a', secret: { secretName: 's' } }] })
  nodes.draft('pods', Pod, { ...mirror, metadata: { ...mirror.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } } })
  assert.ok(nodes.allows('get /pods/ns/p'))
  assert.ok(!nodes.allows('get /secrets/ns/s'))
  assert.ok(!nodes.allows('get /serviceaccounts/ns/acc'))
})

test("the volume of a pod's claim may be read, and its secrets", () => {
  const nodes = new Nodes()
  nodes.draft('pods', Pod, pod('n', { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'claim' } }] }))
  const csi = {
    driver: 'd',
    volumeHandle: 'h',
    nodePublishSecretRef: { name: 'publish', namespace: 'far' },
    controllerPublishSecretRef: { name: 'controller', namespace: 'far' },
  }
  nodes.draft('persistentvolumes', PersistentVolume, {
    metadata: { name: 'v', namespace: '' },
    spec: { capacity: { storage: '1' }, accessModes: ['ReadWriteOnce'], claimRef: { namespace: 'ns', name: 'claim' }, csi },
  })
  assert.ok(nodes.allows('get /persistentvolumes//v'))
  assert.ok(nodes.allows('get /secrets/far/publish'))
  assert.ok(!nodes.allows('get /secrets/far/controller'))
  assert.ok(!nodes.allows('get /persistentvolumes//v', kubelet('m')))
})

test('lists must be restricted to the node', () => {
  const nodes = new Nodes()
  const own = { fieldSelector: 'spec.nodeName=n' }
  for (const path of ['/pods//', 'resource.k8s.io/resourceslices//', 'certificates.k8s.io/podcertificaterequests//']) {
    assert.ok(nodes.allows(`list ${path}`, kubelet('n'), own), path)
    for (const fieldSelector of ['spec.nodeName=m', 'spec.nodeName!=n', 'metadata.name=n', 'spec.nodeName', ''])
      assert.match(nodes.reason(`watch ${path}`, kubelet('n'), { fieldSelector }), /field selector$/, `${path} ${fieldSelector}`)
  }
  assert.ok(nodes.allows('deletecollection resource.k8s.io/resourceslices//', kubelet('n'), own))
  nodes.put('resourceslices', { metadata: { name: 's' }, spec: { nodeName: 'n' } })
  nodes.put('volumeattachments', { metadata: { name: 'a' }, spec: { nodeName: 'n' } })
  assert.ok(nodes.allows('update resource.k8s.io/resourceslices//s'))
  assert.ok(nodes.allows('get storage.k8s.io/volumeattachments//a'))
  assert.ok(!nodes.allows('update resource.k8s.io/resourceslices//s', kubelet('m')))
})

test('a node may write its own Node, Lease and CSINode', () => {
  const nodes = new Nodes()
  for (const ask of ['get /nodes//n', 'create /nodes//', 'patch /nodes//n/status']) assert.ok(nodes.allows(ask), ask)
  assert.equal(nodes.reason('get /nodes//m'), "node 'n' cannot read 'm', only its own Node object")
  assert.equal(nodes.reason('list /nodes//'), "node 'n' cannot read all nodes, only its own Node object")
  assert.ok(!nodes.allows('delete /nodes//n'))
  assert.ok(nodes.allows('update coordination.k8s.io/leases/kube-node-lease/n'))
  assert.ok(nodes.allows('create coordination.k8s.io/leases/kube-node-lease/'))
  assert.match(nodes.reason('update coordination.k8s.io/leases/kube-node-lease/m'), /same name as the requesting node$/)
  assert.equal(nodes.reason('get coordination.k8s.io/leases/default/n'), 'can only access leases in the "kube-node-lease" system namespace')
  assert.ok(nodes.allows('patch storage.k8s.io/csinodes//n'))
  assert.equal(nodes.reason('patch storage.k8s.io/csinodes//n/status'), 'CSINode status access requires CSIVolumeHealth feature')
})

test('other rules are the same for all nodes, and other users get none', () => {
  const nodes = new Nodes()
  assert.ok(nodes.allows('list /services//'))
  assert.ok(nodes.allows('create certificates.k8s.io/certificatesigningrequests//'))
  assert.ok(!nodes.allows('delete /services/ns/x'))
  assert.ok(!nodes.allows('list /services//', { name: 'system:node:n', groups: [] }))
  assert.ok(!nodes.allows('list /services//', { name: 'jane', groups: ['system:nodes'] }))
  assert.equal(nodes.reason('list /services//', kubelet('')), 'unknown node for user "system:node:"')
  const { rulesFor } = nodeAuthorizer({ graph: nodes.graph, groupDomain: 'k8s.io', gate: () => true })
  assert.deepEqual([rulesFor(kubelet('n'), 'ns').incomplete, rulesFor({ name: 'jane', groups: [] }, 'ns').incomplete], [true, false])
})
