/** The command line, declared: what each flag is called, takes and means. Help and parsing both come from this. */
import { join, resolve } from 'node:path'
import { parseDuration } from './lib/duration.ts'
import { type Config, ConfigError, DEFAULTS } from './server/config.ts'

type Draft = { -readonly [K in keyof Config]: Config[K] }
type Flag<D> = {
  readonly name: string
  readonly takes: string
  readonly doc: string
  /** The flag alone means true. */
  readonly isSwitch?: true
  /** Takes all values that the flag was given, in order; there is one at least. */
  readonly read: (values: readonly string[], config: D) => void
}

/** Reads a flag of which the last value counts. */
const last =
  <D = Draft>(set: (value: string, config: D) => void) =>
  (values: readonly string[], config: D) =>
    set(values.at(-1)!, config)
/** Reads a list: values are separated by commas, flags given several times add up, and the list may be empty. */
const list =
  <D = Draft>(set: (values: readonly string[], config: D) => void) =>
  (values: readonly string[], config: D) =>
    set(
      values.flatMap(value => (value === '' ? [] : value.split(','))),
      config,
    )
/** Reads a setting of the OpenID provider; an empty one is left at its default. */
const provider = (key: keyof Config['oidc']) =>
  last((value, config) => (config.oidc = value === '' ? config.oidc : { ...config.oidc, [key]: value }))
/** Reads the name of a file or the like; an empty one means none. */
const name = (set: (value: string | undefined, config: Draft) => void) => last((value, config) => set(value || undefined, config))

/** What the command does beside serving. */
export type ServeOptions = {
  /** Files and folders of manifests to apply at the start. */
  readonly apply: readonly string[]
  /** How it is told that the server is ready. */
  readonly output: 'text' | 'json'
  readonly exitWithParent: boolean
}
type ServeDraft = Draft & { -readonly [K in keyof ServeOptions]: ServeOptions[K] }

/** Flags that are of the command, not of the server. */
const COMMAND_FLAGS: readonly Flag<ServeDraft>[] = [
  {
    name: 'apply',
    takes: 'PATH,…',
    doc: 'manifests to apply at the start: files of YAML or JSON, or folders of them',
    read: list<ServeDraft>((v, c) => (c.apply = v)),
  },
  {
    name: 'output',
    takes: 'text|json',
    doc: 'how serve says that it is ready; json is one line with url, kubeconfig, ca and pid',
    read: last<ServeDraft>((v, c) => (c.output = readOutput(v))),
  },
  {
    name: 'exit-with-parent',
    takes: '[true|false]',
    doc: 'stop when the process that started this one has ended',
    isSwitch: true,
    read: last<ServeDraft>((v, c) => (c.exitWithParent = readBool('exit-with-parent', v))),
  },
]

/** The two files of an authority that signs: its certificate and its key. */
function signingFiles<K extends keyof Draft>(signer: string, doc: string, { cert, key }: { cert: K; key: K }): readonly Flag<Draft>[] {
  const file = (what: string, option: K, text: string): Flag<Draft> => ({
    name: `cluster-signing-${signer}${what}-file`,
    takes: 'FILE',
    doc: text,
    read: name((v, c) => (c[option] = v as Draft[K])),
  })
  return [
    file('cert', cert, `PEM of the authority ${doc}`),
    file('key', key, `PEM of the key that belongs to --cluster-signing-${signer}cert-file`),
  ]
}

const SERVER_FLAGS: readonly Flag<Draft>[] = [
  {
    name: 'data-dir',
    takes: 'DIR',
    doc: 'where data, keys and the kubeconfig are kept (default ./keelson-data)',
    read: last((v, c) => (c.dataDir = v)),
  },
  {
    name: 'secure-port',
    takes: 'PORT',
    doc: 'port to serve HTTPS on; 0 picks a free one (default 6443)',
    read: last((v, c) => (c.port = readPort(v))),
  },
  {
    name: 'bind-address',
    takes: 'ADDRESS',
    doc: 'address to listen on; 0.0.0.0 or :: for all (default 127.0.0.1)',
    read: last((v, c) => (c.host = v)),
  },
  {
    name: 'advertise-address',
    takes: 'IP',
    doc: 'address at which others reach this server, for the kubeconfig, the certificate and the service kubernetes (default: found out)',
    read: name((v, c) => (c.advertiseAddress = v)),
  },
  {
    name: 'tls-san',
    takes: 'A,B',
    doc: "further names and addresses for the server's certificate",
    read: list((v, c) => (c.tlsSans = v)),
  },
  {
    name: 'kubeconfig',
    takes: 'FILE',
    doc: 'kubeconfig to write the context keelson to at every start; the rest of the file is kept (default DATA_DIR/admin.kubeconfig)',
    read: name((v, c) => (c.kubeconfig = v)),
  },
  {
    name: 'store',
    takes: 'KIND',
    doc: 'embedded (durable, default), memory (gone at exit), or etcd (several servers on one etcd cluster)',
    read: last((v, c) => (c.store = readStore(v))),
  },
  {
    name: 'etcd-servers',
    takes: 'URL,…',
    doc: 'members of the etcd cluster, such as https://10.0.0.1:2379; any of them will do',
    read: list((v, c) => (c.etcdServers = v)),
  },
  {
    name: 'etcd-cafile',
    takes: 'FILE',
    doc: "PEM of the authorities that etcd's certificates are checked with",
    read: name((v, c) => (c.etcdCafile = v)),
  },
  {
    name: 'etcd-certfile',
    takes: 'FILE',
    doc: 'PEM of the certificate that etcd is shown',
    read: name((v, c) => (c.etcdCertfile = v)),
  },
  {
    name: 'etcd-keyfile',
    takes: 'FILE',
    doc: 'PEM of the key of that certificate',
    read: name((v, c) => (c.etcdKeyfile = v)),
  },
  {
    name: 'etcd-prefix',
    takes: 'PATH',
    doc: 'what the keys of all records in etcd begin with (default /registry)',
    read: last((v, c) => (c.etcdPrefix = v)),
  },
  {
    name: 'token-auth-file',
    takes: 'FILE',
    doc: 'CSV of token,user,uid,"group1,group2": who may come in by bearer token',
    read: name((v, c) => (c.tokenAuthFile = v)),
  },
  {
    name: 'client-ca-file',
    takes: 'FILE',
    doc: 'PEM of further authorities whose client certificates are accepted',
    read: name((v, c) => (c.clientCaFile = v)),
  },
  {
    name: 'requestheader-client-ca-file',
    takes: 'FILE',
    doc: 'PEM of authorities of proxies, which may name users in the headers below',
    read: name((v, c) => (c.requestheaderClientCaFile = v)),
  },
  {
    name: 'requestheader-allowed-names',
    takes: 'A,B',
    doc: 'common names in the certificates of such proxies (default: any)',
    read: list((v, c) => (c.requestheaderAllowedNames = v)),
  },
  {
    name: 'requestheader-username-headers',
    takes: 'A,B',
    doc: 'headers in which they name the user, such as X-Remote-User',
    read: list((v, c) => (c.requestheaderUsernameHeaders = v)),
  },
  {
    name: 'requestheader-uid-headers',
    takes: 'A,B',
    doc: 'headers with the uid of the user, such as X-Remote-Uid',
    read: list((v, c) => (c.requestheaderUidHeaders = v)),
  },
  {
    name: 'requestheader-group-headers',
    takes: 'A,B',
    doc: 'headers with groups of the user, such as X-Remote-Group',
    read: list((v, c) => (c.requestheaderGroupHeaders = v)),
  },
  {
    name: 'requestheader-extra-headers-prefix',
    takes: 'A,B',
    doc: 'what headers with further attributes of the user begin with, such as X-Remote-Extra-',
    read: list((v, c) => (c.requestheaderExtraHeadersPrefix = v)),
  },
  {
    name: 'authentication-config',
    takes: 'FILE',
    doc: 'AuthenticationConfiguration: issuers of tokens, instead of --oidc-*, and who may be anonymous; changes take effect at once',
    read: name((v, c) => (c.authenticationConfig = v)),
  },
  {
    name: 'authentication-token-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig that leads to a webhook that knows who bears a token',
    read: name((v, c) => (c.authenticationTokenWebhookConfigFile = v)),
  },
  {
    name: 'authentication-token-webhook-version',
    takes: 'VERSION',
    doc: 'version of the TokenReviews that it is sent: v1 or v1beta1 (default)',
    read: last((v, c) => (c.authenticationTokenWebhookVersion = v as Config['authenticationTokenWebhookVersion'])),
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    takes: 'DURATION',
    doc: 'how long its answers are remembered (default 2m)',
    read: last((v, c) => (c.authenticationTokenWebhookCacheMs = readDuration('authentication-token-webhook-cache-ttl', v))),
  },
  {
    name: 'service-account-signing-key-file',
    takes: 'FILE',
    doc: 'PEM of the RSA or ECDSA key that signs tokens of service accounts, instead of one made at first start',
    read: name((v, c) => (c.serviceAccountSigningKeyFile = v)),
  },
  {
    name: 'service-account-key-file',
    takes: 'FILE',
    doc: 'PEM of further keys, public or private, whose tokens are believed; may be given several times',
    read: (values, c) => (c.serviceAccountKeyFiles = values.filter(value => value !== '')),
  },
  {
    name: 'service-account-issuer',
    takes: 'URL',
    doc: 'who signs tokens (default https://kubernetes.default.svc.cluster.local); given again: further issuers to believe',
    read: (values, c) => (c.serviceAccountIssuers = values.filter(value => value !== '')),
  },
  {
    name: 'api-audiences',
    takes: 'A,B',
    doc: 'audiences of which tokens must name one to be believed (default: the issuer)',
    read: list((v, c) => (c.apiAudiences = v)),
  },
  {
    name: 'oidc-issuer-url',
    takes: 'URL',
    doc: 'OpenID provider whose ID tokens are believed',
    read: provider('issuerUrl'),
  },
  {
    name: 'oidc-client-id',
    takes: 'ID',
    doc: 'client that ID tokens must be meant for',
    read: provider('clientId'),
  },
  {
    name: 'oidc-username-claim',
    takes: 'CLAIM',
    doc: 'claim that names the user (default sub)',
    read: provider('usernameClaim'),
  },
  {
    name: 'oidc-username-prefix',
    takes: 'TEXT',
    doc: 'what user names begin with; - for nothing (default: the issuer and #, but nothing before e-mail addresses)',
    read: provider('usernamePrefix'),
  },
  {
    name: 'oidc-groups-claim',
    takes: 'CLAIM',
    doc: 'claim that names the groups of the user',
    read: provider('groupsClaim'),
  },
  {
    name: 'oidc-groups-prefix',
    takes: 'TEXT',
    doc: 'what group names begin with',
    read: provider('groupsPrefix'),
  },
  {
    name: 'oidc-ca-file',
    takes: 'FILE',
    doc: 'PEM of authorities by which the provider is known (default: those that Node trusts)',
    read: provider('caFile'),
  },
  {
    name: 'oidc-required-claim',
    takes: 'CLAIM=VALUE',
    doc: 'claim that ID tokens must have; may be given several times',
    read: (values, c) => (c.oidc = { ...c.oidc, requiredClaims: Object.fromEntries(values.map(readClaim)) }),
  },
  {
    name: 'oidc-signing-algs',
    takes: 'A,B',
    doc: 'algorithms that the provider may sign with (default RS256)',
    read: list((v, c) => (c.oidc = { ...c.oidc, signingAlgorithms: v.length === 0 ? c.oidc.signingAlgorithms : v })),
  },
  {
    name: 'tls-cert-file',
    takes: 'FILE',
    doc: "PEM of the server's certificate, instead of one made at first start",
    read: name((v, c) => (c.tlsCertFile = v)),
  },
  {
    name: 'tls-private-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --tls-cert-file',
    read: name((v, c) => (c.tlsPrivateKeyFile = v)),
  },
  {
    name: 'anonymous-auth',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'let requests without credentials be those of system:anonymous, who may read health and version (default true)',
    read: last((v, c) => (c.anonymousAuth = readBool('anonymous-auth', v))),
  },
  {
    name: 'authorization-mode',
    takes: 'LIST',
    doc: 'who decides what users may do, asked in order: RBAC (default), Node, Webhook, AlwaysAllow, AlwaysDeny',
    read: list((v, c) => (c.authorizationMode = v)),
  },
  {
    name: 'authorization-config',
    takes: 'FILE',
    doc: 'AuthorizationConfiguration: who decides what users may do, instead of --authorization-mode; changes take effect at once',
    read: name((v, c) => (c.authorizationConfig = v)),
  },
  {
    name: 'authorization-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig that leads to the webhook of --authorization-mode Webhook',
    read: name((v, c) => (c.authorizationWebhookConfigFile = v)),
  },
  {
    name: 'authorization-webhook-version',
    takes: 'VERSION',
    doc: 'version of the SubjectAccessReviews that it is sent: v1 or v1beta1 (default)',
    read: last((v, c) => (c.authorizationWebhookVersion = v as Config['authorizationWebhookVersion'])),
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    takes: 'DURATION',
    doc: 'how long its answers that allow are remembered (default 5m)',
    read: last((v, c) => (c.authorizationWebhookCacheAuthorizedMs = readDuration('authorization-webhook-cache-authorized-ttl', v))),
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    takes: 'DURATION',
    doc: 'how long its other answers are remembered (default 30s)',
    read: last((v, c) => (c.authorizationWebhookCacheUnauthorizedMs = readDuration('authorization-webhook-cache-unauthorized-ttl', v))),
  },
  {
    name: 'group-domain',
    takes: 'DOMAIN',
    doc: 'domain of API groups and well-known names (default k8s.io)',
    read: last((v, c) => (c.groupDomain = v)),
  },
  {
    name: 'feature-gates',
    takes: 'A=BOOL,…',
    doc: 'turn Kubernetes features on or off',
    read: list((v, c) => (c.featureGates = v.join(','))),
  },
  {
    name: 'controllers',
    takes: 'LIST',
    doc: 'controllers to run: * (default) for all, their names, -NAME for all but one with *, or none',
    read: list((v, c) => (c.controllers = v)),
  },
  {
    name: 'nodes',
    takes: 'N',
    doc: 'simulated nodes, on which pods run without containers; none with --controllers none (default 1)',
    read: last((v, c) => (c.nodes = readCount('nodes', v))),
  },
  {
    name: 'node-capacity',
    takes: 'RESOURCE=QUANTITY,…',
    doc: 'what each simulated node has, over cpu=16,memory=64Gi,ephemeral-storage=200Gi,pods=110; such as cpu=4,example.com/gpu=2',
    read: list((v, c) => (c.nodeCapacity = Object.fromEntries(v.map(readCapacity)))),
  },
  {
    name: 'node-devices',
    takes: 'DRIVER=COUNT,…',
    doc: 'devices of each simulated node, such as gpu.example.com=8,model=A100,capacity.memory=80Gi; with shared several claims can have one, with partitions=4 also parts of it; can be repeated for other drivers',
    read: (v, c) => (c.nodeDevices = v.filter(text => text !== '')),
  },
  {
    name: 'kubelet-certificate-authority',
    takes: 'FILE',
    doc: "PEM of the authorities of kubelets' certificates, which are not checked without",
    read: name((v, c) => (c.kubeletCertificateAuthority = v)),
  },
  {
    name: 'kubelet-client-certificate',
    takes: 'FILE',
    doc: "PEM of the certificate that kubelets are shown, instead of the administrator's",
    read: name((v, c) => (c.kubeletClientCertificate = v)),
  },
  {
    name: 'kubelet-client-key',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --kubelet-client-certificate',
    read: name((v, c) => (c.kubeletClientKey = v)),
  },
  {
    name: 'proxy-client-cert-file',
    takes: 'FILE',
    doc: "PEM of the certificate with which servers behind APIServices are told who sends a request; by default one of the server's own front-proxy authority",
    read: name((v, c) => (c.proxyClientCertFile = v)),
  },
  {
    name: 'proxy-client-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --proxy-client-cert-file',
    read: name((v, c) => (c.proxyClientKeyFile = v)),
  },
  {
    name: 'kubelet-preferred-address-types',
    takes: 'LIST',
    doc: 'types of node addresses at which kubelets are reached, the preferred ones first',
    read: list((v, c) => (c.kubeletPreferredAddressTypes = v)),
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
    read: last((v, c) => (c.clusterSigningDurationMs = readDuration('cluster-signing-duration', v))),
  },
  {
    name: 'enable-bootstrap-token-auth',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'accept bootstrap tokens: Secrets of type bootstrap.kubernetes.io/token in kube-system (default false)',
    read: last((v, c) => (c.enableBootstrapTokenAuth = readBool('enable-bootstrap-token-auth', v))),
  },
  {
    name: 'allocate-node-cidrs',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'give every node a block of --cluster-cidr for its pods (default false)',
    read: last((v, c) => (c.allocateNodeCidrs = readBool('allocate-node-cidrs', v))),
  },
  {
    name: 'cluster-cidr',
    takes: 'CIDR[,CIDR]',
    doc: 'range of pod addresses, one of each family at most',
    read: last((v, c) => (c.clusterCidr = v === '' ? [] : v.split(',').map(each => each.trim()))),
  },
  {
    name: 'node-cidr-mask-size',
    takes: 'BITS',
    doc: 'prefix length of the block of a node (default 24 for IPv4, 64 for IPv6); not with ranges of both families',
    read: last((v, c) => (c.nodeCidrMaskSize = readCount('node-cidr-mask-size', v) || undefined)),
  },
  {
    name: 'node-cidr-mask-size-ipv4',
    takes: 'BITS',
    doc: 'prefix length of the IPv4 block of a node (default 24)',
    read: last((v, c) => (c.nodeCidrMaskSizeIpv4 = readCount('node-cidr-mask-size-ipv4', v) || undefined)),
  },
  {
    name: 'node-cidr-mask-size-ipv6',
    takes: 'BITS',
    doc: 'prefix length of the IPv6 block of a node (default 64)',
    read: last((v, c) => (c.nodeCidrMaskSizeIpv6 = readCount('node-cidr-mask-size-ipv6', v) || undefined)),
  },
  {
    name: 'enable-admission-plugins',
    takes: 'A,B',
    doc: 'admission plugins to have beside those that are on by default',
    read: list((v, c) => (c.enableAdmissionPlugins = v)),
  },
  {
    name: 'disable-admission-plugins',
    takes: 'A,B',
    doc: 'admission plugins to go without, such as ServiceAccount',
    read: list((v, c) => (c.disableAdmissionPlugins = v)),
  },
  {
    name: 'admission-control-config-file',
    takes: 'FILE',
    doc: 'configuration of admission plugins: an AdmissionConfiguration',
    read: name((v, c) => (c.admissionControlConfigFile = v)),
  },
  {
    name: 'horizontal-pod-autoscaler-sync-period',
    takes: 'DURATION',
    doc: 'how often HorizontalPodAutoscalers are looked at (default 15s)',
    read: last((v, c) => (c.horizontalPodAutoscalerSyncMs = readDuration('horizontal-pod-autoscaler-sync-period', v))),
  },
  {
    name: 'horizontal-pod-autoscaler-downscale-stabilization',
    takes: 'DURATION',
    doc: 'for how long fewer replicas must have been recommended before a workload shrinks (default 5m)',
    read: last((v, c) => {
      c.horizontalPodAutoscalerDownscaleStabilizationMs = readDuration('horizontal-pod-autoscaler-downscale-stabilization', v)
    }),
  },
  {
    name: 'horizontal-pod-autoscaler-cpu-initialization-period',
    takes: 'DURATION',
    doc: 'for how long after its start the processor time of a pod may be left out (default 5m)',
    read: last((v, c) => {
      c.horizontalPodAutoscalerCpuInitializationMs = readDuration('horizontal-pod-autoscaler-cpu-initialization-period', v)
    }),
  },
  {
    name: 'horizontal-pod-autoscaler-initial-readiness-delay',
    takes: 'DURATION',
    doc: "within which time of its start a change of a pod's readiness counts as its first (default 30s)",
    read: last((v, c) => {
      c.horizontalPodAutoscalerInitialReadinessMs = readDuration('horizontal-pod-autoscaler-initial-readiness-delay', v)
    }),
  },
  {
    name: 'horizontal-pod-autoscaler-tolerance',
    takes: 'NUMBER',
    doc: 'differences up to this part of the target are left alone (default 0.1)',
    read: last((v, c) => (c.horizontalPodAutoscalerTolerance = readNumber('horizontal-pod-autoscaler-tolerance', v))),
  },
  {
    name: 'concurrent-horizontal-pod-autoscaler-syncs',
    takes: 'N',
    doc: 'how many HorizontalPodAutoscalers are looked at at the same time (default 5)',
    read: last((v, c) => (c.concurrentHorizontalPodAutoscalerSyncs = readCount('concurrent-horizontal-pod-autoscaler-syncs', v))),
  },
  {
    name: 'node-monitor-grace-period',
    takes: 'DURATION',
    doc: 'how long a kubelet may be silent before its node counts as lost (default 50s)',
    read: last((v, c) => (c.nodeMonitorGraceMs = readDuration('node-monitor-grace-period', v))),
  },
  {
    name: 'node-startup-grace-period',
    takes: 'DURATION',
    doc: 'how long the kubelet of a new node may take to report (default 1m)',
    read: last((v, c) => (c.nodeStartupGraceMs = readDuration('node-startup-grace-period', v))),
  },
  {
    name: 'default-not-ready-toleration-seconds',
    takes: 'N',
    doc: 'seconds that pods stay on a node that is not ready, unless they say how long (default 300)',
    read: last((v, c) => (c.defaultNotReadyTolerationSeconds = readCount('default-not-ready-toleration-seconds', v))),
  },
  {
    name: 'default-unreachable-toleration-seconds',
    takes: 'N',
    doc: 'seconds that pods stay on a node that is out of reach, unless they say how long (default 300)',
    read: last((v, c) => (c.defaultUnreachableTolerationSeconds = readCount('default-unreachable-toleration-seconds', v))),
  },
  {
    name: 'service-cluster-ip-range',
    takes: 'CIDR[,CIDR]',
    doc: 'range of service addresses, one of each family at most (default 10.0.0.0/24)',
    read: last((v, c) => (c.serviceClusterIpRange = v === '' ? c.serviceClusterIpRange : v.split(','))),
  },
  {
    name: 'service-node-port-range',
    takes: 'FROM-TO',
    doc: 'ports of nodes that services get, both ends included (default 30000-32767)',
    read: last((v, c) => (c.serviceNodePortRange = readPortRange(v))),
  },
  {
    name: 'history-window',
    takes: 'DURATION',
    doc: 'how long changes can be watched from and pages be continued, such as 90s or 1h30m (default 10m)',
    read: last((v, c) => (c.historyMs = readDuration('history-window', v))),
  },
  {
    name: 'bookmark-interval',
    takes: 'DURATION',
    doc: 'how often watches that allow bookmarks get one (default 30s)',
    read: last((v, c) => (c.bookmarkMs = readDuration('bookmark-interval', v))),
  },
  {
    name: 'max-requests-inflight',
    takes: 'N',
    doc: 'with the next flag: the seats that priority levels share; both 0 for no limit (default 400)',
    read: last((v, c) => (c.maxRequestsInflight = readCount('max-requests-inflight', v))),
  },
  {
    name: 'max-mutating-requests-inflight',
    takes: 'N',
    doc: 'added to --max-requests-inflight (default 200)',
    read: last((v, c) => (c.maxMutatingRequestsInflight = readCount('max-mutating-requests-inflight', v))),
  },
  {
    name: 'log-level',
    takes: 'LEVEL',
    doc: 'debug, info, warn (default), error or silent',
    read: last((v, c) => (c.logLevel = readLevel(v))),
  },
]

/** All flags of `serve` and `run`. */
export const FLAGS: readonly Flag<ServeDraft>[] = [...SERVER_FLAGS, ...COMMAND_FLAGS]

/**
 * Reads the flags of `serve` as kube-apiserver does: `--name value`, `--name=value`, `--switch`, with underscores for dashes if
 * you like. Throws ConfigError.
 */
export function readServeFlags(args: readonly string[]): ServeOptions & { readonly config: Config } {
  const given = new Map<Flag<ServeDraft>, string[]>()
  for (let i = 0; i < args.length; i++) {
    const [, written = '', , inline] = /^--([a-z0-9_-]+)(=([\s\S]*))?$/.exec(args[i]!) ?? []
    const name = written.replaceAll('_', '-')
    const flag = FLAGS.find(f => f.name === name)
    if (!flag) throw new ConfigError(`unknown argument ${args[i]}${suggest(name)}; see keelson serve --help`)
    const next = args[i + 1]
    // What looks like the next flag is the next flag; a value that begins so is written after `=`.
    const isNextValue = next !== undefined && !next.startsWith('--')
    if (inline === undefined && isNextValue) i++
    const value = inline ?? (isNextValue ? next : flag.isSwitch ? 'true' : undefined)
    if (value === undefined) throw new ConfigError(`--${name} needs a value: --${name} ${flag.takes}`)
    const values = given.get(flag)
    if (values) values.push(value)
    else given.set(flag, [value])
  }
  const draft: ServeDraft = { ...DEFAULTS, apply: [], output: 'text', exitWithParent: false }
  for (const [flag, values] of given) flag.read(values, draft)
  const { apply, output, exitWithParent, ...config } = draft
  const kubeconfig = resolve(config.kubeconfig ?? join(config.dataDir, 'admin.kubeconfig'))
  return { config: { ...config, kubeconfig }, apply, output, exitWithParent }
}

/** The settings of the server alone. */
export const readFlags = (args: readonly string[]): Config => readServeFlags(args).config

function suggest(name: string): string {
  const near = FLAGS.find(f => name.length > 3 && (f.name.includes(name) || name.includes(f.name)))
  return near ? `; did you mean --${near.name}?` : ''
}

function readClaim(text: string): [claim: string, value: string] {
  const [, claim, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (claim === undefined || value === undefined) throw new ConfigError(`--oidc-required-claim takes CLAIM=VALUE, not "${text}"`)
  return [claim, value]
}
function readCapacity(text: string): [resource: string, quantity: string] {
  const [, resource, quantity] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (resource === undefined || quantity === undefined)
    throw new ConfigError(`--node-capacity takes RESOURCE=QUANTITY such as cpu=4, not "${text}"`)
  return [resource, quantity]
}
function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new ConfigError(`--secure-port takes a number, not "${text}"`)
  return Number(text)
}
function readNumber(flag: string, text: string): number {
  const number = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(number)) throw new ConfigError(`--${flag} takes a number such as 0.1, not "${text}"`)
  return number
}

function readCount(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new ConfigError(`--${flag} takes a number, not "${text}"`)
  return Number(text)
}
function readPortRange(text: string): Config['serviceNodePortRange'] {
  const [, from = '', to = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []
  if (from === '') throw new ConfigError(`--service-node-port-range takes two ports such as 30000-32767, not "${text}"`)
  return { from: Number(from), to: Number(to) }
}
function readBool(flag: string, text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false
  throw new ConfigError(`--${flag} takes true or false, not "${text}"`)
}
function readDuration(flag: string, text: string): number {
  try {
    return Number(parseDuration(text)) / 1e6
  } catch {
    throw new ConfigError(`--${flag} takes a duration such as 90s or 10m, not "${text}"`)
  }
}
function readOutput(text: string): ServeOptions['output'] {
  if (text !== 'text' && text !== 'json') throw new ConfigError(`--output takes text or json, not "${text}"`)
  return text
}
function readStore(text: string): Config['store'] {
  if (text !== 'embedded' && text !== 'memory' && text !== 'etcd')
    throw new ConfigError(`--store takes embedded, memory or etcd, not "${text}"`)
  return text
}
function readLevel(text: string): Config['logLevel'] {
  const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const
  const level = levels.find(l => l === text)
  if (!level) throw new ConfigError(`--log-level takes ${levels.join(', ')}, not "${text}"`)
  return level
}
