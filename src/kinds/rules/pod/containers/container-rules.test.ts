import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container, containerErrors, podSpec, type Rows, specErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'

const table = (rows: Rows<object>, errors: (given: object) => string[]) => {
  for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(errors(given), expected))
}

const SIDECAR = 'may not be set for init containers without restartPolicy=Always'
const EPHEMERAL = 'cannot be set for an Ephemeral Container'
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

test('a plain pod is fine', () => assert.deepEqual(specErrors(podSpec()), []))

table(
  [
    ['a container needs a name', { name: '' }, ['name: Required value']],
    ['a name of a container is a DNS label', { name: 'A' }, [`name: Invalid value: "A": ${LABEL}`]],
    ['a container needs an image', { image: '' }, ['image: Required value']],
    [
      'the termination message policy is one of two values',
      { terminationMessagePolicy: 'Shout' },
      ['terminationMessagePolicy: Unsupported value: "Shout": supported values: "File", "FallbackToLogsOnError"'],
    ],
    [
      'the image pull policy is supported',
      { imagePullPolicy: 'Maybe' },
      ['imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"'],
    ],
    [
      'restart rules need a policy, an action and exit codes',
      { restartPolicyRules: [{ action: 'Dance' }] },
      [
        'restartPolicy: Required value: must specify restartPolicy when restart rules are used',
        'restartPolicyRules[0].action: Unsupported value: "Dance": supported values: "Restart", "RestartAllContainers"',
        'restartPolicyRules[0].exitCodes: Required value: must be specified',
      ],
    ],
    [
      'exit codes are listed or excluded, and not too many',
      {
        restartPolicy: 'Sometimes',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'Is', values: Array.from({ length: 256 }, (_, i) => i) } }],
      },
      [
        'restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
        'restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
        'restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items',
      ],
    ],
    [
      'there are at most 20 restart rules',
      { restartPolicy: 'Never', restartPolicyRules: Array(21).fill({ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }) },
      ['restartPolicyRules: Too many: 21: must have at most 20 items'],
    ],
    [
      'resize policies are about cpu and memory, once each',
      {
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: 'Never' },
          { resourceName: 'disk', restartPolicy: '' },
        ],
      },
      [
        'resizePolicy[1]: Duplicate value: "cpu"',
        'resizePolicy: Unsupported value: "Never": supported values: "NotRequired", "RestartContainer"',
        'resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
        'resizePolicy: Required value',
      ],
    ],
  ],
  given => containerErrors(given),
)

test('in a pod that never restarts, nothing is resized by a restart', () =>
  assert.deepEqual(
    containerErrors({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }, { restartPolicy: 'Never' }),
    ["resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"],
  ))

test('without the feature, containers have no restart policy of their own', () =>
  assert.deepEqual(containerErrors({ restartPolicy: 'Never' }, {}, { restartRules: false }), [
    'restartPolicy: Forbidden: may not be set for non-init containers',
  ]))

table(
  [
    ['a pod needs a container', { containers: [] }, ['spec.containers: Required value']],
    ['no two containers share a name', { containers: [container(), container()] }, ['spec.containers[1].name: Duplicate value: "main"']],
    [
      'no two containers take the same port of the node',
      {
        containers: [
          container({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
          container({
            name: 'b',
            ports: [
              { containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' },
              { containerPort: 81, hostPort: 8080 },
            ],
          }),
        ],
      },
      ['spec.containers[1].ports[1].hostPort: Duplicate value: "TCP//8080"'],
    ],
    [
      'an init container shares no name with another container',
      { initContainers: [container()] },
      ['spec.initContainers[0].name: Duplicate value: "main"'],
    ],
    [
      'init containers that end have no life to be watched',
      {
        initContainers: [
          container({
            name: 'init',
            lifecycle: { preStop: { exec: { command: ['x'] } } },
            livenessProbe: { exec: { command: ['x'] } },
            readinessProbe: { exec: { command: ['x'] } },
            startupProbe: { exec: { command: ['x'] } },
            resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
          }),
        ],
      },
      [
        ...['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'].map(f => `spec.initContainers[0].${f}: Forbidden: ${SIDECAR}`),
        'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to \'RestartContainer\' for non-sidecar initContainers',
      ],
    ],
    [
      'sidecars are probed like containers',
      {
        initContainers: [
          container({ name: 'init', restartPolicy: 'Always', livenessProbe: { successThreshold: 2, exec: { command: ['x'] } } }),
        ],
      },
      ['spec.initContainers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ],
    [
      'restart rules of init containers need a policy',
      { initContainers: [container({ name: 'init', restartPolicyRules: [{ action: 'Dance' }] })] },
      ['spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used'],
    ],
    [
      'host ports are unique within each init container',
      {
        initContainers: [
          container({ name: 'a', ports: [{ containerPort: 1, hostPort: 1 }] }),
          container({ name: 'b', ports: [{ containerPort: 1, hostPort: 1 }] }),
        ],
      },
      [],
    ],
    [
      'ephemeral containers have a name of their own, a target, and nothing that a service needs',
      {
        ephemeralContainers: [
          container({
            image: ' x ',
            targetContainerName: 'other',
            ports: [{ containerPort: 1 }],
            resources: { limits: { cpu: '1' } },
            lifecycle: {},
            readinessProbe: { exec: { command: ['x'] } },
            volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }],
          }),
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
      [
        'spec.ephemeralContainers[0].image: Invalid value: " x ": must not have leading or trailing whitespace',
        'spec.ephemeralContainers[0].name: Duplicate value: "main"',
        'spec.ephemeralContainers[0].targetContainerName: Not found: "other"',
        ...['ports', 'resources', 'readinessProbe', 'lifecycle'].map(f => `spec.ephemeralContainers[0].${f}: Forbidden: ${EPHEMERAL}`),
        `spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: ${EPHEMERAL}`,
      ],
    ],
  ],
  given => specErrors(podSpec(given)),
)

table(
  [
    [
      'ports are in range and named once',
      {
        ports: [
          { name: 'web', containerPort: 80 },
          { name: 'web', containerPort: 0, hostPort: 70000, protocol: 'ICMP' },
          { name: 'UPPER--', containerPort: 70000 },
        ],
      },
      [
        'ports[1].name: Duplicate value: "web"',
        'ports[1].containerPort: Required value',
        'ports[1].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
        'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        'ports[2].name: Invalid value: "UPPER--": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'ports[2].name: Invalid value: "UPPER--": must contain at least one letter (a-z)',
        'ports[2].name: Invalid value: "UPPER--": must not contain consecutive hyphens',
        'ports[2].name: Invalid value: "UPPER--": must not begin or end with a hyphen',
        'ports[2].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      'a probe needs one handler, and numbers that are not negative',
      {
        readinessProbe: {
          initialDelaySeconds: -1,
          timeoutSeconds: -1,
          periodSeconds: -1,
          successThreshold: -1,
          failureThreshold: -1,
          terminationGracePeriodSeconds: 0,
        },
      },
      [
        'readinessProbe: Required value: must specify a handler type',
        ...['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'].map(
          f => `readinessProbe.${f}: Invalid value: -1: must be greater than or equal to 0`,
        ),
        'readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
        'readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must not be set for readinessProbes',
      ],
    ],
    [
      'further handlers are rejected without validation',
      { livenessProbe: { exec: {}, httpGet: {}, tcpSocket: {}, grpc: {} } },
      [
        'livenessProbe.exec.command: Required value',
        'livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type',
        'livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
        'livenessProbe.grpc: Forbidden: may not specify more than 1 handler type',
      ],
    ],
    [
      'requests of probes name a port, a scheme and headers that exist',
      { startupProbe: { httpGet: { port: 'UP', scheme: 'FTP', httpHeaders: [{ name: 'a b', value: 'x' }], protocol: 'HTTP3' } } },
      [
        'startupProbe.httpGet.port: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'startupProbe.httpGet.port: Invalid value: "UP": must contain at least one letter (a-z)',
        'startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
        "startupProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
        'startupProbe.httpGet.protocol: Unsupported value: "HTTP3": supported values: "HTTP1", "HTTP2"',
      ],
    ],
    [
      'HTTP/2 probes need the scheme HTTP',
      { startupProbe: { httpGet: { port: 1, scheme: 'HTTPS', protocol: 'HTTP2' } } },
      ['startupProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)'],
    ],
    [
      'HTTP/2 names no host',
      { startupProbe: { httpGet: { port: 1, host: 'x', protocol: 'HTTP2' } } },
      ['startupProbe.httpGet.host: Invalid value: "x": must be empty when `protocol` is "HTTP2"'],
    ],
    [
      'probes of gRPC have a port and a mode',
      { livenessProbe: { grpc: { port: 0, mode: 'Odd' } } },
      [
        'livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'livenessProbe.grpc.mode: Unsupported value: "Odd": supported values: "Plaintext", "TLS"',
      ],
    ],
    [
      'a pause fits into the grace period, and stop signals need an operating system',
      { lifecycle: { postStart: {}, preStop: { sleep: { seconds: 31 } }, stopSignal: 'SIGTERM' } },
      [
        'lifecycle.postStart: Required value: must specify a handler type',
        'lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)',
        'lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`',
      ],
    ],
  ],
  given => containerErrors(given),
)

test('Windows supports two stop signals', () =>
  assert.deepEqual(containerErrors({ lifecycle: { stopSignal: 'SIGHUP' } }, { os: { name: 'windows' } }), [
    'lifecycle.stopSignal: Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"',
  ]))

test('Linux supports 65 stop signals', () => {
  const [error] = containerErrors({ lifecycle: { stopSignal: 'SIGODD' } }, { os: { name: 'linux' } })
  assert.equal(error?.match(/"SIG/g)?.length, 1 + 65)
  assert.deepEqual(containerErrors({ lifecycle: { stopSignal: 'SIGRTMAX-14' } }, { os: { name: 'linux' } }), [])
})
