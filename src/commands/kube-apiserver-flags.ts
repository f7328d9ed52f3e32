/** Flags of kube-apiserver 1.37 that `keelson serve` does not have. All others have the same meaning here. */

const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Without a value these mean true. */
export const SWITCHES = namesIn(`
  aggregator-reject-forwarding-redirect allow-privileged
  contention-profiling
  disable-http2-serving enable-aggregator-routing enable-garbage-collector enable-logs-handler
  enable-priority-and-fairness log-text-split-stream permit-address-sharing
  permit-port-sharing service-account-lookup shutdown-send-retry-after watch-cache
`)

/** Flags that tune features which do not exist here, or need no tuning. */
export const WITHOUT_MEANING = namesIn(`
  aggregator-reject-forwarding-redirect allow-metric-labels allow-metric-labels-manifest allow-privileged
  contention-profiling coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
  coordinated-leadership-retry-period debug-socket-path delete-collection-workers disable-http2-serving disabled-metrics
  enable-aggregator-routing enable-garbage-collector enable-logs-handler
  enable-priority-and-fairness endpoint-reconciler-type etcd-compaction-interval
  etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-readycheck-timeout
  etcd-servers-overrides external-hostname goaway-chance http2-max-streams-per-connection kubelet-timeout
  kubernetes-service-node-port lease-reuse-duration-seconds livez-grace-period log-flush-frequency log-text-info-buffer-size
  log-text-split-stream max-connection-bytes-per-sec min-request-timeout
  permit-address-sharing permit-port-sharing
  service-account-lookup
  show-hidden-metrics-for-version shutdown-send-retry-after shutdown-watch-termination-grace-period
  storage-backend storage-initialization-timeout storage-media-type tls-curve-preferences vmodule watch-cache
  watch-cache-sizes
`)

/** Flags without effect here, and the consequence for the user. */
export const MISSED: Readonly<Record<string, string>> = {
  'admission-control': 'use --enable-admission-plugins and --disable-admission-plugins instead',
  'event-ttl': 'events are kept for an hour',
  'request-timeout': 'requests have a timeout of one minute, unless they ask for less',
  'service-account-jwks-uri': 'the keys of service accounts are served at /openid/v1/jwks',
  'strict-transport-security-directives': 'no such header is sent',
}
