import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FLAGS } from '../flags/serve-flags.ts'
import { translate } from './kube-apiserver.ts'
import { MISSED, SWITCHES, WITHOUT_MEANING } from './kube-apiserver-flags.ts'

/** Every flag of kube-apiserver 1.37. */
const EVERY = `
  admission-control admission-control-config-file advertise-address aggregator-reject-forwarding-redirect allow-metric-labels
  allow-metric-labels-manifest allow-privileged anonymous-auth api-audiences audit-log-batch-buffer-size
  audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-enable
  audit-log-batch-throttle-qps audit-log-compress audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize
  audit-log-mode audit-log-path audit-log-truncate-enabled audit-log-truncate-max-batch-size audit-log-truncate-max-event-size
  audit-log-version audit-policy-file audit-webhook-batch-buffer-size audit-webhook-batch-max-size
  audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable
  audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode
  audit-webhook-truncate-enabled audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size
  audit-webhook-version authentication-config authentication-token-webhook-cache-ttl authentication-token-webhook-config-file
  authentication-token-webhook-version authorization-config authorization-mode authorization-policy-file
  authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl authorization-webhook-config-file
  authorization-webhook-version bind-address cert-dir client-ca-file contention-profiling
  coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period
  cors-allowed-origins debug-socket-path default-not-ready-toleration-seconds default-unreachable-toleration-seconds
  delete-collection-workers disable-admission-plugins disable-http2-serving disabled-metrics egress-selector-config-file
  emulated-version emulation-forward-compatible enable-admission-plugins enable-aggregator-routing enable-bootstrap-token-auth
  enable-garbage-collector enable-logs-handler enable-priority-and-fairness encryption-provider-config
  encryption-provider-config-automatic-reload endpoint-reconciler-type etcd-cafile etcd-certfile etcd-compaction-interval
  etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix
  etcd-readycheck-timeout etcd-servers etcd-servers-overrides event-ttl external-hostname feature-gates goaway-chance
  http2-max-streams-per-connection kubelet-certificate-authority kubelet-client-certificate kubelet-client-key
  kubelet-preferred-address-types kubelet-timeout kubernetes-service-node-port lease-reuse-duration-seconds livez-grace-period
  log-flush-frequency log-text-info-buffer-size log-text-split-stream logging-format max-connection-bytes-per-sec
  max-mutating-requests-inflight max-requests-inflight min-compatibility-version min-request-timeout oidc-ca-file
  oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs
  oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file permit-address-sharing
  permit-port-sharing profiling proxy-client-cert-file proxy-client-key-file request-timeout requestheader-allowed-names
  requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
  requestheader-username-headers runtime-config runtime-config-emulation-forward-compatible secure-port
  service-account-extend-token-expiration service-account-issuer service-account-jwks-uri service-account-key-file
  service-account-lookup service-account-max-token-expiration service-account-signing-endpoint
  service-account-signing-key-file service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version
  shutdown-delay-duration shutdown-send-retry-after shutdown-watch-termination-grace-period storage-backend
  storage-initialization-timeout storage-media-type strict-transport-security-directives tls-cert-file tls-cipher-suites
  tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key token-auth-file tracing-config-file version
  vmodule watch-cache watch-cache-sizes
`

test('every flag of kube-apiserver is accepted, and none that the server has is said to be without effect', () => {
  const ours = new Set(FLAGS.map(({ name }) => name))
  for (const name of [...WITHOUT_MEANING, ...Object.keys(MISSED)]) assert.ok(!ours.has(name), `--${name} is a flag of serve`)
  for (const name of EVERY.trim().split(/\s+/)) {
    if (['help', 'version', 'v'].includes(name)) continue
    assert.doesNotThrow(() => translate([`--${name}=1`]), name)
  }
  for (const name of SWITCHES) assert.ok(WITHOUT_MEANING.has(name), name)
})

test('flags are passed on, kept, warned about or left out', () => {
  const args = ['--secure-port', '6443', '--allow-privileged', '--cert-dir=/c', '-v=4', '--v', '2', '--profiling=false', '--anonymous-auth']
  assert.deepEqual(translate([...args, '--runtime-config=api/all=true', '--event-ttl=2h', '--etcd-servers', 'http://a']), {
    own: { 'cert-dir': '/c', 'etcd-servers': 'http://a' },
    passed: ['--secure-port=6443', '--profiling=false', '--anonymous-auth=true', '--runtime-config=api/all=true'],
    warnings: ['--event-ttl has no effect: events are kept for an hour'],
  })
  assert.throws(() => translate(['--no-such-flag=1']), /^Error: unknown flag: --no-such-flag=1$/)
  assert.throws(() => translate(['--secure-port']), /flag needs an argument: --secure-port/)
})
