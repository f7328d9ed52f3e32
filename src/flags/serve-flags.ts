/** The flags of `serve` and `run`, declared: what each is called, takes and means. Help and parsing both come from this. */
import { type Config, ConfigError, DEFAULTS } from '../server/config.ts'
import {
  bool,
  count,
  decimal,
  duration,
  every,
  type Flag,
  items,
  last,
  list,
  name,
  oneOf,
  optionalCount,
  pairs,
  type ReadFlag,
  repeated,
  text,
} from './flag.ts'

const SERVER_FLAGS: readonly Flag[] = [
  {
    name: 'data-dir',
    takes: 'DIR',
    doc: 'where data, keys and the kubeconfig are kept (default ./keelson-data)',
    read: text('dataDir'),
  },
  {
    name: 'secure-port',
    takes: 'PORT',
    doc: 'port to serve HTTPS on; 0 picks a free one (default 6443)',
    read: count('port'),
  },
  {
    name: 'bind-address',
    takes: 'ADDRESS',
    doc: 'address to listen on; 0.0.0.0 or :: for all (default 127.0.0.1)',
    read: text('host'),
  },
  {
    name: 'advertise-address',
    takes: 'IP',
    doc: 'address at which others reach this server, for the kubeconfig, the certificate and the service kubernetes (default: found out)',
    read: name('advertiseAddress'),
  },
  {
    name: 'tls-san',
    takes: 'A,B',
    doc: "further names and addresses for the server's certificate",
    read: list('tlsSans'),
  },
  {
    name: 'kubeconfig',
    takes: 'FILE',
    doc: 'kubeconfig to write the context keelson to at every start; the rest of the file is kept (default DATA_DIR/admin.kubeconfig)',
    read: name('kubeconfig'),
  },
  {
    name: 'store',
    takes: 'KIND',
    doc: 'embedded (durable, default), memory (gone at exit), or etcd (several servers on one etcd cluster)',
    read: oneOf('store', ['embedded', 'memory', 'etcd']),
  },
  {
    name: 'etcd-servers',
    takes: 'URL,…',
    doc: 'members of the etcd cluster, such as https://10.0.0.1:2379; any of them will do',
    read: list('etcdServers'),
  },
  {
    name: 'etcd-cafile',
    takes: 'FILE',
    doc: "PEM of the authorities that etcd's certificates are checked with",
    read: name('etcdCafile'),
  },
  {
    name: 'etcd-certfile',
    takes: 'FILE',
    doc: 'PEM of the certificate that etcd is shown',
    read: name('etcdCertfile'),
  },
  {
    name: 'etcd-keyfile',
    takes: 'FILE',
    doc: 'PEM of the key of that certificate',
    read: name('etcdKeyfile'),
  },
  {
    name: 'etcd-prefix',
    takes: 'PATH',
    doc: 'what the keys of all records in etcd begin with (default /registry)',
    read: text('etcdPrefix'),
  },
  {
    name: 'token-auth-file',
    takes: 'FILE',
    doc: 'CSV of token,user,uid,"group1,group2": who may come in by bearer token',
    read: name('tokenAuthFile'),
  },
  {
    name: 'client-ca-file',
    takes: 'FILE',
    doc: 'PEM of further authorities whose client certificates are accepted',
    read: name('clientCaFile'),
  },
  {
    name: 'requestheader-client-ca-file',
    takes: 'FILE',
    doc: 'PEM of authorities of proxies, which may name users in the headers below',
    read: name('requestheaderClientCaFile'),
  },
  {
    name: 'requestheader-allowed-names',
    takes: 'A,B',
    doc: 'common names in the certificates of such proxies (default: any)',
    read: list('requestheaderAllowedNames'),
  },
  {
    name: 'requestheader-username-headers',
    takes: 'A,B',
    doc: 'headers in which they name the user, such as X-Remote-User',
    read: list('requestheaderUsernameHeaders'),
  },
  {
    name: 'requestheader-uid-headers',
    takes: 'A,B',
    doc: 'headers with the uid of the user, such as X-Remote-Uid',
    read: list('requestheaderUidHeaders'),
  },
  {
    name: 'requestheader-group-headers',
    takes: 'A,B',
    doc: 'headers with groups of the user, such as X-Remote-Group',
    read: list('requestheaderGroupHeaders'),
  },
  {
    name: 'requestheader-extra-headers-prefix',
    takes: 'A,B',
    doc: 'what headers with further attributes of the user begin with, such as X-Remote-Extra-',
    read: list('requestheaderExtraHeadersPrefix'),
  },
  {
    name: 'authentication-config',
    takes: 'FILE',
    doc: 'AuthenticationConfiguration: issuers of tokens, instead of --oidc-*, and who may be anonymous; changes take effect at once',
    read: name('authenticationConfig'),
  },
  {
    name: 'authentication-token-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig that leads to a webhook that knows who bears a token',
    read: name('authenticationTokenWebhookConfigFile'),
  },
  {
    name: 'authentication-token-webhook-version',
    takes: 'VERSION',
    doc: 'version of the TokenReviews that it is sent: v1 or v1beta1 (default)',
    read: oneOf('authenticationTokenWebhookVersion', ['v1', 'v1beta1']),
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    takes: 'DURATION',
    doc: 'how long its answers are remembered (default 2m)',
    read: duration('authenticationTokenWebhookCacheMs'),
  },
  {
    name: 'service-account-signing-key-file',
    takes: 'FILE',
    doc: 'PEM of the RSA or ECDSA key that signs tokens of service accounts, instead of one made at first start',
    read: name('serviceAccountSigningKeyFile'),
  },
  {
    name: 'service-account-key-file',
    takes: 'FILE',
    doc: 'PEM of further keys, public or private, whose tokens are believed; may be given several times',
    read: repeated('serviceAccountKeyFiles'),
  },
  {
    name: 'service-account-issuer',
    takes: 'URL',
    doc: 'who signs tokens (default https://kubernetes.default.svc.cluster.local); given again: further issuers to believe',
    read: repeated('serviceAccountIssuers'),
  },
  {
    name: 'api-audiences',
    takes: 'A,B',
    doc: 'audiences of which tokens must name one to be believed (default: the issuer)',
    read: list('apiAudiences'),
  },
  {
    name: 'oidc-issuer-url',
    takes: 'URL',
    doc: 'OpenID provider whose ID tokens are believed',
    read: oidcSetting('issuerUrl'),
  },
  {
    name: 'oidc-client-id',
    takes: 'ID',
    doc: 'client that ID tokens must be meant for',
    read: oidcSetting('clientId'),
  },
  {
    name: 'oidc-username-claim',
    takes: 'CLAIM',
    doc: 'claim that names the user (default sub)',
    read: oidcSetting('usernameClaim'),
  },
  {
    name: 'oidc-username-prefix',
    takes: 'TEXT',
    doc: 'what user names begin with; - for nothing (default: the issuer and #, but nothing before e-mail addresses)',
    read: oidcSetting('usernamePrefix'),
  },
  {
    name: 'oidc-groups-claim',
    takes: 'CLAIM',
    doc: 'claim that names the groups of the user',
    read: oidcSetting('groupsClaim'),
  },
  {
    name: 'oidc-groups-prefix',
    takes: 'TEXT',
    doc: 'what group names begin with',
    read: oidcSetting('groupsPrefix'),
  },
  {
    name: 'oidc-ca-file',
    takes: 'FILE',
    doc: 'PEM of authorities by which the provider is known (default: those that Node trusts)',
    read: oidcSetting('caFile'),
  },
  {
    name: 'oidc-required-claim',
    takes: 'CLAIM=VALUE',
    doc: 'claim that ID tokens must have; may be given several times',
    read: (values, draft, flag) => (draft.oidc = { ...draft.oidc, requiredClaims: pairs(values, flag, 'CLAIM=VALUE') }),
  },
  {
    name: 'oidc-signing-algs',
    takes: 'A,B',
    doc: 'algorithms that the provider may sign with (default RS256)',
    read: (values, draft) => {
      const signingAlgorithms = items(values)
      if (signingAlgorithms.length > 0) draft.oidc = { ...draft.oidc, signingAlgorithms }
    },
  },
  {
    name: 'tls-cert-file',
    takes: 'FILE',
    doc: "PEM of the server's certificate, instead of one made at first start",
    read: name('tlsCertFile'),
  },
  {
    name: 'tls-private-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --tls-cert-file',
    read: name('tlsPrivateKeyFile'),
  },
  {
    name: 'anonymous-auth',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'let requests without credentials be those of system:anonymous, who may read health and version (default true)',
    read: bool('anonymousAuth'),
  },
  {
    name: 'authorization-mode',
    takes: 'LIST',
    doc: 'who decides what users may do, asked in order: RBAC (default), Node, Webhook, AlwaysAllow, AlwaysDeny',
    read: list('authorizationMode'),
  },
  {
    name: 'authorization-config',
    takes: 'FILE',
    doc: 'AuthorizationConfiguration: who decides what users may do, instead of --authorization-mode; changes take effect at once',
    read: name('authorizationConfig'),
  },
  {
    name: 'authorization-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig that leads to the webhook of --authorization-mode Webhook',
    read: name('authorizationWebhookConfigFile'),
  },
  {
    name: 'authorization-webhook-version',
    takes: 'VERSION',
    doc: 'version of the SubjectAccessReviews that it is sent: v1 or v1beta1 (default)',
    read: oneOf('authorizationWebhookVersion', ['v1', 'v1beta1']),
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    takes: 'DURATION',
    doc: 'how long its answers that allow are remembered (default 5m)',
    read: duration('authorizationWebhookCacheAuthorizedMs'),
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    takes: 'DURATION',
    doc: 'how long its other answers are remembered (default 30s)',
    read: duration('authorizationWebhookCacheUnauthorizedMs'),
  },
  {
    name: 'group-domain',
    takes: 'DOMAIN',
    doc: 'domain of API groups and well-known names (default k8s.io)',
    read: text('groupDomain'),
  },
  {
    name: 'feature-gates',
    takes: 'A=BOOL,…',
    doc: 'turn Kubernetes features on or off',
    read: every('featureGates', values => items(values).join(',')),
  },
  {
    name: 'controllers',
    takes: 'LIST',
    doc: 'controllers to run: * (default) for all, their names, -NAME for all but one with *, or none',
    read: list('controllers'),
  },
  {
    name: 'nodes',
    takes: 'N',
    doc: 'simulated nodes, on which pods run without containers; none with --controllers none (default 1)',
    read: count('nodes'),
  },
  {
    name: 'node-capacity',
    takes: 'RESOURCE=QUANTITY,…',
    doc: 'what each simulated node has, over cpu=16,memory=64Gi,ephemeral-storage=200Gi,pods=110; such as cpu=4,example.com/gpu=2',
    read: every('nodeCapacity', (values, flag) => pairs(items(values), flag, 'RESOURCE=QUANTITY such as cpu=4')),
  },
  {
    name: 'node-devices',
    takes: 'DRIVER=COUNT,…',
    doc: 'devices of each simulated node, such as gpu.example.com=8,model=A100,capacity.memory=80Gi; with shared several claims can have one, with partitions=4 also parts of it; can be repeated for other drivers',
    read: repeated('nodeDevices'),
  },
  {
    name: 'kubelet-certificate-authority',
    takes: 'FILE',
    doc: "PEM of the authorities of kubelets' certificates, which are not checked without",
    read: name('kubeletCertificateAuthority'),
  },
  {
    name: 'kubelet-client-certificate',
    takes: 'FILE',
    doc: "PEM of the certificate that kubelets are shown, instead of the administrator's",
    read: name('kubeletClientCertificate'),
  },
  {
    name: 'kubelet-client-key',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --kubelet-client-certificate',
    read: name('kubeletClientKey'),
  },
  {
    name: 'proxy-client-cert-file',
    takes: 'FILE',
    doc: "PEM of the certificate with which servers behind APIServices are told who sends a request; by default one of the server's own front-proxy authority",
    read: name('proxyClientCertFile'),
  },
  {
    name: 'proxy-client-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --proxy-client-cert-file',
    read: name('proxyClientKeyFile'),
  },
  {
    name: 'kubelet-preferred-address-types',
    takes: 'LIST',
    doc: 'types of node addresses at which kubelets are reached, the preferred ones first',
    read: list('kubeletPreferredAddressTypes'),
  },
  ...signingFiles('', 'that issues certificates for requests, instead of the server itself', {
    cert: 'clusterSigningCertFile',
    key: 'clusterSigningKeyFile',
  }),
  ...signingFiles('kubelet-serving-', 'for the signer kubernetes.io/kubelet-serving alone; signers without one then sign nothing', {
    cert: 'clusterSigningKubeletServingCertFile',
    key: 'clusterSigningKubeletServingKeyFile',
  }),
  ...signingFiles(
    'kubelet-client-',
    'for the signer kubernetes.io/kube-apiserver-client-kubelet alone; signers without one then sign nothing',
    {
      cert: 'clusterSigningKubeletClientCertFile',
      key: 'clusterSigningKubeletClientKeyFile',
    },
  ),
  ...signingFiles(
    'kube-apiserver-client-',
    'for the signer kubernetes.io/kube-apiserver-client alone; signers without one then sign nothing',
    {
      cert: 'clusterSigningKubeApiserverClientCertFile',
      key: 'clusterSigningKubeApiserverClientKeyFile',
    },
  ),
  ...signingFiles('legacy-unknown-', 'for the signer kubernetes.io/legacy-unknown alone; signers without one then sign nothing', {
    cert: 'clusterSigningLegacyUnknownCertFile',
    key: 'clusterSigningLegacyUnknownKeyFile',
  }),
  {
    name: 'cluster-signing-duration',
    takes: 'DURATION',
    doc: 'how long issued certificates are valid at most; requests may ask for less (default 8760h)',
    read: duration('clusterSigningDurationMs'),
  },
  {
    name: 'enable-bootstrap-token-auth',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'accept bootstrap tokens: Secrets of type bootstrap.kubernetes.io/token in kube-system (default false)',
    read: bool('enableBootstrapTokenAuth'),
  },
  {
    name: 'allocate-node-cidrs',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'give every node a block of --cluster-cidr for its pods (default false)',
    read: bool('allocateNodeCidrs'),
  },
  {
    name: 'cluster-cidr',
    takes: 'CIDR[,CIDR]',
    doc: 'range of pod addresses, one of each family at most',
    read: last('clusterCidr', value => items([value]).map(range => range.trim())),
  },
  {
    name: 'node-cidr-mask-size',
    takes: 'BITS',
    doc: 'prefix length of the block of a node (default 24 for IPv4, 64 for IPv6); not with ranges of both families',
    read: optionalCount('nodeCidrMaskSize'),
  },
  {
    name: 'node-cidr-mask-size-ipv4',
    takes: 'BITS',
    doc: 'prefix length of the IPv4 block of a node (default 24)',
    read: optionalCount('nodeCidrMaskSizeIpv4'),
  },
  {
    name: 'node-cidr-mask-size-ipv6',
    takes: 'BITS',
    doc: 'prefix length of the IPv6 block of a node (default 64)',
    read: optionalCount('nodeCidrMaskSizeIpv6'),
  },
  {
    name: 'enable-admission-plugins',
    takes: 'A,B',
    doc: 'admission plugins to have beside those that are on by default',
    read: list('enableAdmissionPlugins'),
  },
  {
    name: 'disable-admission-plugins',
    takes: 'A,B',
    doc: 'admission plugins to go without, such as ServiceAccount',
    read: list('disableAdmissionPlugins'),
  },
  {
    name: 'admission-control-config-file',
    takes: 'FILE',
    doc: 'configuration of admission plugins: an AdmissionConfiguration',
    read: name('admissionControlConfigFile'),
  },
  {
    name: 'horizontal-pod-autoscaler-sync-period',
    takes: 'DURATION',
    doc: 'how often HorizontalPodAutoscalers are looked at (default 15s)',
    read: duration('horizontalPodAutoscalerSyncMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-downscale-stabilization',
    takes: 'DURATION',
    doc: 'for how long fewer replicas must have been recommended before a workload shrinks (default 5m)',
    read: duration('horizontalPodAutoscalerDownscaleStabilizationMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-cpu-initialization-period',
    takes: 'DURATION',
    doc: 'for how long after its start the processor time of a pod may be left out (default 5m)',
    read: duration('horizontalPodAutoscalerCpuInitializationMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-initial-readiness-delay',
    takes: 'DURATION',
    doc: "within which time of its start a change of a pod's readiness counts as its first (default 30s)",
    read: duration('horizontalPodAutoscalerInitialReadinessMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-tolerance',
    takes: 'NUMBER',
    doc: 'differences up to this part of the target are left alone (default 0.1)',
    read: decimal('horizontalPodAutoscalerTolerance'),
  },
  {
    name: 'concurrent-horizontal-pod-autoscaler-syncs',
    takes: 'N',
    doc: 'how many HorizontalPodAutoscalers are looked at at the same time (default 5)',
    read: count('concurrentHorizontalPodAutoscalerSyncs'),
  },
  {
    name: 'node-monitor-grace-period',
    takes: 'DURATION',
    doc: 'how long a kubelet may be silent before its node counts as lost (default 50s)',
    read: duration('nodeMonitorGraceMs'),
  },
  {
    name: 'node-startup-grace-period',
    takes: 'DURATION',
    doc: 'how long the kubelet of a new node may take to report (default 1m)',
    read: duration('nodeStartupGraceMs'),
  },
  {
    name: 'default-not-ready-toleration-seconds',
    takes: 'N',
    doc: 'seconds that pods stay on a node that is not ready, unless they say how long (default 300)',
    read: count('defaultNotReadyTolerationSeconds'),
  },
  {
    name: 'default-unreachable-toleration-seconds',
    takes: 'N',
    doc: 'seconds that pods stay on a node that is out of reach, unless they say how long (default 300)',
    read: count('defaultUnreachableTolerationSeconds'),
  },
  {
    name: 'service-cluster-ip-range',
    takes: 'CIDR[,CIDR]',
    doc: 'range of service addresses, one of each family at most (default 10.0.0.0/24)',
    read: last('serviceClusterIpRange', value => (value === '' ? DEFAULTS.serviceClusterIpRange : items([value]))),
  },
  {
    name: 'service-node-port-range',
    takes: 'FROM-TO',
    doc: 'ports of nodes that services get, both ends included (default 30000-32767)',
    read: last('serviceNodePortRange', readPortRange),
  },
  {
    name: 'history-window',
    takes: 'DURATION',
    doc: 'how long changes can be watched from and pages be continued, such as 90s or 1h30m (default 10m)',
    read: duration('historyMs'),
  },
  {
    name: 'bookmark-interval',
    takes: 'DURATION',
    doc: 'how often watches that allow bookmarks get one (default 30s)',
    read: duration('bookmarkMs'),
  },
  {
    name: 'enable-fault-injection',
    takes: 'BOOL',
    doc: 'let administrators make requests fail, for tests: /keelson/faults, see docs/testing-controllers.md (default false)',
    isSwitch: true,
    read: bool('enableFaultInjection'),
  },
  {
    name: 'max-requests-inflight',
    takes: 'N',
    doc: 'with the next flag: the seats that priority levels share; both 0 for no limit (default 400)',
    read: count('maxRequestsInflight'),
  },
  {
    name: 'max-mutating-requests-inflight',
    takes: 'N',
    doc: 'added to --max-requests-inflight (default 200)',
    read: count('maxMutatingRequestsInflight'),
  },
  {
    name: 'log-level',
    takes: 'LEVEL',
    doc: 'debug, info, warn (default), error or silent',
    read: oneOf('logLevel', ['debug', 'info', 'warn', 'error', 'silent']),
  },
]

/** Flags of the commands `serve` and `run`, not of the server. */
const COMMAND_FLAGS: readonly Flag[] = [
  {
    name: 'apply',
    takes: 'PATH,…',
    doc: 'manifests to apply at the start: files of YAML or JSON, or folders of them',
    read: list('apply'),
  },
  {
    name: 'output',
    takes: 'text|json',
    doc: 'how serve says that it is ready; json is one line with url, kubeconfig, ca and pid',
    read: oneOf('output', ['text', 'json']),
  },
  {
    name: 'exit-with-parent',
    takes: '[true|false]',
    doc: 'stop when the process that started this one has ended',
    isSwitch: true,
    read: bool('exitWithParent'),
  },
]

/** All flags of `serve` and `run`. */
export const FLAGS: readonly Flag[] = [...SERVER_FLAGS, ...COMMAND_FLAGS]

/** A setting of the OpenID provider; an empty one is left at its default. */
function oidcSetting(key: keyof Config['oidc']): ReadFlag {
  return (values, draft) => {
    const value = values.at(-1)!
    if (value !== '') draft.oidc = { ...draft.oidc, [key]: value }
  }
}

type SigningFile = Extract<keyof Config, `clusterSigning${string}File`>

/** The two files of an authority that signs: its certificate and its key. */
function signingFiles(signer: string, doc: string, { cert, key }: { cert: SigningFile; key: SigningFile }): readonly Flag[] {
  return [
    {
      name: `cluster-signing-${signer}cert-file`,
      takes: 'FILE',
      doc: `PEM of the authority ${doc}`,
      read: name(cert),
    },
    {
      name: `cluster-signing-${signer}key-file`,
      takes: 'FILE',
      doc: `PEM of the key that belongs to --cluster-signing-${signer}cert-file`,
      read: name(key),
    },
  ]
}

function readPortRange(value: string, flag: string): Config['serviceNodePortRange'] {
  const [, from = '', to = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []
  if (from === '') throw new ConfigError(`--${flag} takes two ports such as 30000-32767, not "${value}"`)
  return { from: Number(from), to: Number(to) }
}
