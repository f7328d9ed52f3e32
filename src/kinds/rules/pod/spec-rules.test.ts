import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container, podSpec, type Rows, specErrors, templateErrors, texts } from '../../../../test/kits/kinds/pod-shapes.ts'
import { refTo } from '../../../schema/refs.ts'
import type { PodSpec } from './spec.ts'
import { validatePodSpec } from './spec-rules.ts'

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const QUALIFIED =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'

const rows: Rows<object> = [
  [
    'restart policies are supported values',
    { restartPolicy: 'Odd' },
    ['restartPolicy: Unsupported value: "Odd": supported values: "Always", "OnFailure", "Never"'],
  ],
  [
    'DNS policies are supported values',
    { dnsPolicy: 'Odd' },
    ['dnsPolicy: Unsupported value: "Odd": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'],
  ],
  ['nodes are selected by labels', { nodeSelector: { 'a b': 'c' } }, [`nodeSelector: Invalid value: "a b": ${QUALIFIED}`]],
  [
    'DNS policy None requires a DNS config',
    { dnsPolicy: 'None' },
    ['dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
  ],
  [
    'DNS policy None requires a name server',
    { dnsPolicy: 'None', dnsConfig: {} },
    ['dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None'],
  ],
  [
    'resolvers take three servers',
    { dnsConfig: { nameservers: ['1.1.1.1', '::1', '010.1.1.1', 'x'], searches: ['.', 'a_b.c.', 'A'], options: [{}] } },
    [
      'dnsConfig.nameservers: Invalid value: ["1.1.1.1","::1","010.1.1.1","x"]: must not have more than 3 nameservers',
      'dnsConfig.nameservers[2]: Invalid value: "010.1.1.1": must not have leading 0s',
      `dnsConfig.nameservers[3]: Invalid value: "x": ${IP}`,
      "dnsConfig.searches[2]: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
      'dnsConfig.options[0]: Required value: must not be empty',
    ],
  ],
  [
    'conditions of readiness are label keys',
    { readinessGates: [{ conditionType: 'a b' }] },
    [`readinessGates[0].conditionType: Invalid value: "a b": ${QUALIFIED}`],
  ],
  [
    'gates of scheduling are label keys, each once',
    { schedulingGates: [{ name: 'a' }, { name: 'a' }, { name: 'a b' }] },
    ['schedulingGates[1]: Duplicate value: "a"', `schedulingGates[2]: Invalid value: "a b": ${QUALIFIED}`],
  ],
  ['an account has a name', { serviceAccountName: 'A' }, [`serviceAccountName: Invalid value: "A": ${SUBDOMAIN}`]],
  ['a node has a name', { nodeName: 'A' }, [`nodeName: Invalid value: "A": ${SUBDOMAIN}`]],
  [
    'a deadline is in range',
    { activeDeadlineSeconds: 0 },
    ['activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
  ],
  [
    'host names are labels',
    { hostname: 'A', subdomain: 'A' },
    [`hostname: Invalid value: "A": ${LABEL}`, `subdomain: Invalid value: "A": ${LABEL}`],
  ],
  [
    'aliases are addresses and names',
    { hostAliases: [{ ip: 'x', hostnames: ['A'] }] },
    [`hostAliases[0].ip: Invalid value: "x": ${IP}`, `hostAliases[0].hostnames[0]: Invalid value: "A": ${SUBDOMAIN}`],
  ],
  [
    'classes have names',
    { priorityClassName: 'A', runtimeClassName: '' },
    [`priorityClassName: Invalid value: "A": ${SUBDOMAIN}`, `runtimeClassName: Invalid value: "": ${SUBDOMAIN}`],
  ],
  [
    'preemption is known',
    { preemptionPolicy: 'Odd' },
    ['preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
  ],
  [
    'a host name may be replaced in pods that make one',
    { hostnameOverride: `A${'a'.repeat(64)}`, setHostnameAsFQDN: true, hostNetwork: true },
    [
      'hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
      'hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
      'hostnameOverride: Too long: may not be more than 64 bytes',
      `hostnameOverride: Invalid value: "A${'a'.repeat(64)}": ${SUBDOMAIN}`,
    ],
  ],
  [
    'claims have a name and one source',
    {
      resourceClaims: [
        { name: '' },
        { name: 'a', resourceClaimName: 'A' },
        { name: 'a', resourceClaimName: 'x', resourceClaimTemplateName: 'y' },
      ],
    },
    [
      'resourceClaims[0].name: Required value',
      'resourceClaims[0]: Invalid value: {"Name":"","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      `resourceClaims[1].resourceClaimName: Invalid value: "A": ${SUBDOMAIN}`,
      'resourceClaims[2].name: Duplicate value: "a"',
      'resourceClaims[2]: Invalid value: {"Name":"a","ResourceClaimName":"x","ResourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    ],
  ],
  [
    'a group of pods is named',
    { schedulingGroup: {} },
    ['schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`'],
  ],
  [
    'eviction responders have a qualified name and a priority',
    {
      schedulingGroup: { podGroupName: 'g' },
      evictionResponders: [
        { name: 'a.k8s.io/x', priority: 10000 },
        { name: 'b', priority: 5 },
        { name: 'b', priority: 100001 },
      ],
    },
    [
      'schedulingGroup: Forbidden: may not be set when evictionResponders is set',
      'evictionResponders[2]: Duplicate value: {"name":"b","priority":100001}',
      'evictionResponders[0].name: Invalid value: "a.k8s.io/x": domain names *.k8s.io, *.kubernetes.io are reserved',
      'evictionResponders[1].name: Invalid value: "b": must include a prefix (e.g. \'example.com/key\')',
      'evictionResponders[1].priority: Invalid value: 5: priorities 0-999 are reserved for responders with *.k8s.io suffix',
      'evictionResponders[2].name: Invalid value: "b": must include a prefix (e.g. \'example.com/key\')',
      'evictionResponders[2].priority: Invalid value: 100001: must be less than or equal to 100000',
    ],
  ],
]
for (const [name, given, expected] of rows)
  test(name, () =>
    assert.deepEqual(
      specErrors(podSpec(given)),
      expected.map(text => `spec.${text}`),
    ),
  )

test('on the network of the node, ports are those of the node', () => {
  const spec = (ports: object[]) => podSpec({ hostNetwork: true, containers: [container({ ports })] })
  const message = 'must match `containerPort` when `hostNetwork` is true'
  assert.deepEqual(specErrors(spec([{ containerPort: 80, hostPort: 81 }])), [
    `spec.containers[0].ports[0].hostPort: Invalid value: 81: ${message}`,
  ])
})

test('a mirrored pod claims nothing', () => {
  const pod = { name: 'p', annotations: { 'kubernetes.io/config.mirror': 'x' } }
  assert.deepEqual(specErrors(podSpec({ resourceClaims: [{ name: 'A' }] }), { pod }), [
    ': Forbidden: static pods do not support resource claims',
  ])
})

test('fields that have defaults are required', () => {
  const spec = { containers: [{ name: 'a', image: 'x', resources: {} }] } as unknown as PodSpec
  assert.deepEqual(texts(validatePodSpec(spec, refTo(spec, 'spec'))), [
    'spec.terminationGracePeriodSeconds: Required value',
    'spec.containers[0].terminationMessagePolicy: Required value',
    'spec.containers[0].imagePullPolicy: Required value',
    'spec.restartPolicy: Required value',
    'spec.dnsPolicy: Required value',
  ])
})

test('the two names of an account agree', () => {
  const spec = { ...podSpec(), serviceAccountName: 'a', serviceAccount: 'b' } as unknown as PodSpec
  assert.ok(
    texts(validatePodSpec(spec, refTo(spec, 'spec'))).includes(
      'spec.deprecatedServiceAccount: Invalid value: "b": must be the same as serviceAccountName: "a"',
    ),
  )
})

const annotated = (annotations: object, spec: object = podSpec()) => ({ metadata: { annotations }, spec })
const templateRows: Rows<object> = [
  [
    'labels and annotations of a template are named without metadata',
    { metadata: { labels: { 'a b': 'c' }, annotations: { 'a b': 'c' } }, spec: podSpec() },
    [`labels: Invalid value: "a b": ${QUALIFIED}`, `annotations: Invalid value: "a b": ${QUALIFIED}`],
  ],
  [
    'a template has no ephemeral containers',
    { spec: podSpec({ ephemeralContainers: [container({ name: 'e' })] }) },
    ['spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template'],
  ],
  [
    'a mirror is of a node',
    annotated({ 'kubernetes.io/config.mirror': 'x' }),
    ['annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'],
  ],
  [
    'the cost of deletion is an integer',
    annotated({ 'controller.kubernetes.io/pod-deletion-cost': '+1' }),
    ['annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer'],
  ],
  [
    'old tolerations are tolerations',
    annotated({ 'scheduler.alpha.kubernetes.io/tolerations': '[{"Key":"a","operator":"Odd"}]' }),
    ['annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"'],
  ],
  [
    'old seccomp profiles are profiles',
    annotated({
      'seccomp.security.alpha.kubernetes.io/pod': 'odd',
      'container.seccomp.security.alpha.kubernetes.io/main': 'localhost/../x',
    }),
    [
      'annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "odd": must be a valid seccomp profile',
      'annotations.container.seccomp.security.alpha.kubernetes.io/main: Invalid value: "../x": must not contain \'..\'',
    ],
  ],
  [
    'old AppArmor profiles are profiles of containers',
    annotated({ 'container.apparmor.security.beta.kubernetes.io/other': 'odd' }),
    [
      'annotations[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "other": container not found',
      'annotations[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "odd": invalid AppArmor profile name: "odd"',
    ],
  ],
  [
    'annotations and fields about profiles agree',
    annotated(
      {
        'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
        'container.seccomp.security.alpha.kubernetes.io/main': 'localhost/a',
        'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default',
      },
      podSpec({
        securityContext: { seccompProfile: { type: 'RuntimeDefault' }, appArmorProfile: { type: 'Unconfined' } },
        containers: [container({ securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'b' } } })],
      }),
    ),
    [
      'spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match',
      'spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match',
    ],
  ],
]
for (const [name, given, expected] of templateRows)
  test(name, () =>
    assert.deepEqual(
      templateErrors(given),
      expected.map(text => `template.${text}`),
    ),
  )

test('a template without ports of the node leaves them to be filled', () => {
  const spec = podSpec({ hostNetwork: true, containers: [container({ ports: [{ containerPort: 80 }] })] })
  assert.deepEqual(templateErrors({ spec }), [])
})
