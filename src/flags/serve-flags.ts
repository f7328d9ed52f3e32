/** The flags of `serve` and `run`: name, type of value, and description. Help and parsing are both derived from these declarations. */
import { availableParallelism } from 'node:os'
import { TLS_VERSIONS } from '../lib/tls-settings.ts'
import { type Config, ConfigError, DEFAULTS } from '../server/config.ts'
import { AUDIT_FLAGS } from './audit-flags.ts'
import {
  bool,
  count,
  decimal,
  duration,
  every,
  type Flag,
  items,
  joined,
  last,
  list,
  name,
  oneOf,
  optionalCount,
  pairs,
  type ReadFlag,
  readWholeNumber,
  repeated,
  text,
} from './flag.ts'

/** Beyond this the process that commits all writes is the limit, whatever the machine; see docs/capacity.md. */
const MAX_PROCESSES = 64

const SERVER_FLAGS: readonly Flag[] = [
  {
    name: 'data-dir',
    takes: 'DIR',
    doc: 'directory for data, keys and the kubeconfig (default ./keelson-data)',
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
    doc: 'address at which others reach this server, for the kubeconfig, the certificate and the service kubernetes (default: detected)',
    read: name('advertiseAddress'),
  },
  {
    name: 'tls-san',
    takes: 'A,B',
    doc: 'additional names and addresses for the server certificate',
    read: list('tlsSans'),
  },
  {
    name: 'kubeconfig',
    takes: 'FILE',
    doc: 'kubeconfig to write the context of this server to at every start; the rest of the file is kept (default DATA_DIR/admin.kubeconfig)',
    read: name('kubeconfig'),
  },
  {
    name: 'context-name',
    takes: 'NAME',
    doc: 'name of the context, cluster and user in that kubeconfig; servers that share a file need one each (default keelson)',
    read: text('contextName'),
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
    doc: 'URLs of members of the etcd cluster, such as https://10.0.0.1:2379',
    read: list('etcdServers'),
  },
  {
    name: 'etcd-cafile',
    takes: 'FILE',
    doc: 'PEM of the CA that verifies the certificates of etcd',
    read: name('etcdCafile'),
  },
  {
    name: 'etcd-certfile',
    takes: 'FILE',
    doc: 'PEM of the client certificate for etcd',
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
    doc: 'prefix of all keys in etcd (default /registry)',
    read: text('etcdPrefix'),
  },
  {
    name: 'encryption-provider-config',
    takes: 'FILE',
    doc: 'EncryptionConfiguration of apiserver.config.k8s.io/v1: how resources are encrypted in the store; without it Secrets of the embedded store are encrypted with a key of DIR/pki',
    read: name('encryptionProviderConfig'),
  },
  {
    name: 'encryption-provider-config-automatic-reload',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'read --encryption-provider-config again when it changes (default false); all KMS plugins then share the health check kms-providers',
    read: bool('encryptionProviderConfigAutomaticReload'),
  },
  {
    name: 'token-auth-file',
    takes: 'FILE',
    doc: 'CSV of token,user,uid,"group1,group2": static bearer tokens',
    read: name('tokenAuthFile'),
  },
  {
    name: 'client-ca-file',
    takes: 'FILE',
    doc: 'PEM of additional CAs of client certificates',
    read: name('clientCaFile'),
  },
  {
    name: 'requestheader-client-ca-file',
    takes: 'FILE',
    doc: 'PEM of the CAs of authenticating proxies, which name users in the headers below',
    read: name('requestheaderClientCaFile'),
  },
  {
    name: 'requestheader-allowed-names',
    takes: 'A,B',
    doc: 'common names that client certificates of such proxies may have (default: any)',
    read: list('requestheaderAllowedNames'),
  },
  {
    name: 'requestheader-username-headers',
    takes: 'A,B',
    doc: 'headers with the user name, such as X-Remote-User',
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
    doc: 'prefixes of headers with extra attributes of the user, such as X-Remote-Extra-',
    read: list('requestheaderExtraHeadersPrefix'),
  },
  {
    name: 'authentication-config',
    takes: 'FILE',
    doc: 'AuthenticationConfiguration: token issuers, instead of --oidc-*, and anonymous access; changes take effect at once',
    read: name('authenticationConfig'),
  },
  {
    name: 'authentication-token-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig of a webhook that authenticates bearer tokens',
    read: name('authenticationTokenWebhookConfigFile'),
  },
  {
    name: 'authentication-token-webhook-version',
    takes: 'VERSION',
    doc: 'version of the TokenReviews for that webhook: v1 or v1beta1 (default)',
    read: oneOf('authenticationTokenWebhookVersion', ['v1', 'v1beta1']),
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    takes: 'DURATION',
    doc: 'how long its responses are cached (default 2m)',
    read: duration('authenticationTokenWebhookCacheMs'),
  },
  {
    name: 'service-account-signing-key-file',
    takes: 'FILE',
    doc: 'PEM of the RSA or ECDSA key that signs service account tokens, instead of a generated one',
    read: name('serviceAccountSigningKeyFile'),
  },
  {
    name: 'service-account-signing-endpoint',
    takes: 'PATH',
    doc: 'Unix socket of an external signer of service account tokens (v1.ExternalJWTSigner), instead of keys',
    read: name('serviceAccountSigningEndpoint'),
  },
  {
    name: 'service-account-key-file',
    takes: 'FILE',
    doc: 'PEM of additional keys, public or private, that verify service account tokens; may be repeated',
    read: repeated('serviceAccountKeyFiles'),
  },
  {
    name: 'service-account-issuer',
    takes: 'URL',
    doc: 'issuer of service account tokens (default https://kubernetes.default.svc.cluster.local); if repeated, the others are accepted as well',
    read: repeated('serviceAccountIssuers'),
  },
  {
    name: 'service-account-max-token-expiration',
    takes: 'DURATION',
    doc: 'maximum validity of service account tokens; longer requests are reduced to it (1h to 2^32 seconds; default: as requested)',
    read: duration('serviceAccountMaxTokenExpirationMs'),
  },
  {
    name: 'service-account-extend-token-expiration',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'let default tokens of pods be valid for a year, whatever the maximum validity is (default true)',
    read: bool('serviceAccountExtendTokenExpiration'),
  },
  {
    name: 'api-audiences',
    takes: 'A,B',
    doc: 'audiences, one of which a token must have (default: the issuer)',
    read: list('apiAudiences'),
  },
  {
    name: 'oidc-issuer-url',
    takes: 'URL',
    doc: 'URL of the OpenID provider whose ID tokens are accepted',
    read: oidcSetting('issuerUrl'),
  },
  {
    name: 'oidc-client-id',
    takes: 'ID',
    doc: 'client ID that ID tokens must be issued for',
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
    doc: 'prefix of user names; - for none (default: the issuer and #, but none for e-mail addresses)',
    read: oidcSetting('usernamePrefix'),
  },
  {
    name: 'oidc-groups-claim',
    takes: 'CLAIM',
    doc: 'claim with the groups of the user',
    read: oidcSetting('groupsClaim'),
  },
  {
    name: 'oidc-groups-prefix',
    takes: 'TEXT',
    doc: 'prefix of group names',
    read: oidcSetting('groupsPrefix'),
  },
  {
    name: 'oidc-ca-file',
    takes: 'FILE',
    doc: 'PEM of the CAs of the provider (default: those of Node)',
    read: oidcSetting('caFile'),
  },
  {
    name: 'oidc-required-claim',
    takes: 'CLAIM=VALUE',
    doc: 'claim that ID tokens must have; may be repeated',
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
    doc: 'PEM of the server certificate, instead of a generated one',
    read: name('tlsCertFile'),
  },
  {
    name: 'tls-private-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --tls-cert-file',
    read: name('tlsPrivateKeyFile'),
  },
  {
    name: 'tls-cipher-suites',
    takes: 'A,B',
    doc: "cipher suites before TLS 1.3, under Go's names, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (default: those of Node)",
    read: list('tlsCipherSuites'),
  },
  {
    name: 'tls-min-version',
    takes: 'VERSION',
    doc: `oldest version of TLS: ${TLS_VERSIONS.join(', ')} (default VersionTLS12)`,
    read: text('tlsMinVersion'),
  },
  {
    name: 'tls-sni-cert-key',
    takes: 'CERT,KEY[:NAME,…]',
    doc: 'PEM files of a certificate and its key for certain names of the server, which may begin with *. (default: the names in the certificate); may be repeated',
    read: repeated('tlsSniCertKeys'),
  },
  {
    name: 'cors-allowed-origins',
    takes: 'A,B',
    doc: 'regular expressions of the origins whose pages may use the API in a browser, such as ^https://example\\.com$ (default: none)',
    read: list('corsAllowedOrigins'),
  },
  {
    name: 'anonymous-auth',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'treat requests without credentials as system:anonymous, who may read health and version (default true)',
    read: bool('anonymousAuth'),
  },
  {
    name: 'authorization-mode',
    takes: 'LIST',
    doc: 'authorizers, in order: RBAC (default), Node, Webhook, ABAC, AlwaysAllow, AlwaysDeny',
    read: list('authorizationMode'),
  },
  {
    name: 'authorization-config',
    takes: 'FILE',
    doc: 'AuthorizationConfiguration: authorizers, instead of --authorization-mode; changes take effect at once',
    read: name('authorizationConfig'),
  },
  {
    name: 'egress-selector-config-file',
    takes: 'FILE',
    doc: 'EgressSelectorConfiguration: proxies through which the server connects to the cluster, the control plane and etcd',
    read: name('egressSelectorConfigFile'),
  },
  {
    name: 'authorization-policy-file',
    takes: 'FILE',
    doc: 'policies of --authorization-mode ABAC, one JSON object a line',
    read: name('authorizationPolicyFile'),
  },
  {
    name: 'authorization-webhook-config-file',
    takes: 'FILE',
    doc: 'kubeconfig of the webhook of --authorization-mode Webhook',
    read: name('authorizationWebhookConfigFile'),
  },
  {
    name: 'authorization-webhook-version',
    takes: 'VERSION',
    doc: 'version of the SubjectAccessReviews for that webhook: v1 or v1beta1 (default)',
    read: oneOf('authorizationWebhookVersion', ['v1', 'v1beta1']),
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    takes: 'DURATION',
    doc: 'how long its responses that allow are cached (default 5m)',
    read: duration('authorizationWebhookCacheAuthorizedMs'),
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    takes: 'DURATION',
    doc: 'how long its other responses are cached (default 30s)',
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
    read: joined('featureGates'),
  },
  {
    name: 'api',
    takes: 'SET',
    doc: 'built-in kinds to serve: all; minimal, for kinds of your own with service accounts, admission and quotas; none, only what no server can leave out; see docs/own-kinds.md (default all)',
    read: oneOf('api', ['none', 'minimal', 'all']),
  },
  {
    name: 'runtime-config',
    takes: 'KEY=BOOL,…',
    doc: 'versions and resources of the API to turn on or off: GROUP/VERSION, GROUP/VERSION/RESOURCE, api/all, api/ga, api/beta, api/alpha (default: the stable versions)',
    read: joined('runtimeConfig'),
  },
  {
    name: 'emulated-version',
    takes: 'VERSION',
    doc: 'release of Kubernetes whose versions and feature gates are served, 1.34 to 1.37 (default 1.37)',
    read: joined('emulatedVersion'),
  },
  {
    name: 'min-compatibility-version',
    takes: 'VERSION',
    doc: 'oldest release that must be able to read the records (default: the one before the emulated release)',
    read: joined('minCompatibilityVersion'),
  },
  {
    name: 'emulation-forward-compatible',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'serve newer versions of the resources of an emulated release, too (default false)',
    read: bool('emulationForwardCompatible'),
  },
  {
    name: 'runtime-config-emulation-forward-compatible',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'serve newer versions than the emulated release has, if --runtime-config names them (default false)',
    read: bool('runtimeConfigEmulationForwardCompatible'),
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
    doc: 'capacity of each simulated node, in addition to cpu=16,memory=64Gi,ephemeral-storage=200Gi,pods=110 or instead; such as cpu=4,example.com/gpu=2',
    read: every('nodeCapacity', (values, flag) => pairs(items(values), flag, 'RESOURCE=QUANTITY such as cpu=4')),
  },
  {
    name: 'node-devices',
    takes: 'DRIVER=COUNT,…',
    doc: 'devices of each simulated node, such as gpu.example.com=8,model=A100,capacity.memory=80Gi; with shared, several claims can use one; with partitions=4, claims can use parts of one; may be repeated for other drivers',
    read: repeated('nodeDevices'),
  },
  {
    name: 'local-image',
    takes: 'IMAGE=COMMAND',
    doc: 'containers of the image on simulated nodes run as processes of this machine, with the rights of the user of this server, such as example.com/manager=./bin/manager; may be repeated for other images',
    read: repeated('localImages'),
  },
  {
    name: 'node-plugins',
    takes: 'DIR',
    doc: 'directory with sockets of plugins, such as CSI drivers, that simulated nodes register as kubelets do; those in a folder with the name of a node belong to it',
    read: name('nodePlugins'),
  },
  {
    name: 'kubelet-certificate-authority',
    takes: 'FILE',
    doc: 'PEM of the CA of kubelet certificates (default: they are not verified)',
    read: name('kubeletCertificateAuthority'),
  },
  {
    name: 'kubelet-client-certificate',
    takes: 'FILE',
    doc: 'PEM of the client certificate for kubelets (default: one of the user kube-apiserver-kubelet-client, which has no rights in this API)',
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
    doc: 'PEM of the client certificate for aggregated API servers (default: one of the generated front-proxy CA)',
    read: name('proxyClientCertFile'),
  },
  {
    name: 'proxy-client-key-file',
    takes: 'FILE',
    doc: 'PEM of the key that belongs to --proxy-client-cert-file',
    read: name('proxyClientKeyFile'),
  },
  {
    name: 'peer-ca-file',
    takes: 'FILE',
    doc: 'PEM of the CA that verifies other servers over the same etcd; requests for resources that this server does not serve are then passed on to one that does (default: they are not)',
    read: name('peerCaFile'),
  },
  {
    name: 'peer-advertise-ip',
    takes: 'IP',
    doc: 'address at which other servers over the same etcd reach this one (default: --advertise-address, or as detected)',
    read: name('peerAdvertiseIp'),
  },
  {
    name: 'peer-advertise-port',
    takes: 'PORT',
    doc: 'the port to --peer-advertise-ip (default: --secure-port)',
    read: last('peerAdvertisePort', readWholeNumber),
  },
  {
    name: 'proxy-allowed-networks',
    takes: 'LIST',
    doc: 'networks such as 127.0.0.0/8 in which nodes, pods and endpoints are connected to even if their addresses are loopback, link-local or otherwise special (default: none)',
    read: list('proxyAllowedNetworks'),
  },
  {
    name: 'kubelet-preferred-address-types',
    takes: 'LIST',
    doc: 'types of node addresses to connect to kubelets, in order of preference',
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
    doc: 'maximum validity of issued certificates; requests may ask for less (default 8760h)',
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
    doc: 'range of pod addresses, at most one of each family',
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
    doc: 'admission plugins to enable in addition to the default ones',
    read: list('enableAdmissionPlugins'),
  },
  {
    name: 'disable-admission-plugins',
    takes: 'A,B',
    doc: 'admission plugins to disable, such as ServiceAccount',
    read: list('disableAdmissionPlugins'),
  },
  {
    name: 'admission-control-config-file',
    takes: 'FILE',
    doc: 'configuration of admission plugins: an AdmissionConfiguration',
    read: name('admissionControlConfigFile'),
  },
  {
    name: 'scheduler-config-file',
    takes: 'FILE',
    doc: 'configuration of the scheduler: a KubeSchedulerConfiguration, as --config of kube-scheduler',
    read: name('schedulerConfigFile'),
  },
  {
    name: 'horizontal-pod-autoscaler-sync-period',
    takes: 'DURATION',
    doc: 'how often HorizontalPodAutoscalers are evaluated (default 15s)',
    read: duration('horizontalPodAutoscalerSyncMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-downscale-stabilization',
    takes: 'DURATION',
    doc: 'how long fewer replicas must have been recommended before a workload is scaled down (default 5m)',
    read: duration('horizontalPodAutoscalerDownscaleStabilizationMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-cpu-initialization-period',
    takes: 'DURATION',
    doc: 'time after the start of a pod in which its CPU usage may be ignored (default 5m)',
    read: duration('horizontalPodAutoscalerCpuInitializationMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-initial-readiness-delay',
    takes: 'DURATION',
    doc: 'time after the start of a pod in which changes of readiness count as the initial readiness (default 30s)',
    read: duration('horizontalPodAutoscalerInitialReadinessMs'),
  },
  {
    name: 'horizontal-pod-autoscaler-tolerance',
    takes: 'NUMBER',
    doc: 'relative difference from the target that causes no scaling (default 0.1)',
    read: decimal('horizontalPodAutoscalerTolerance'),
  },
  {
    name: 'concurrent-horizontal-pod-autoscaler-syncs',
    takes: 'N',
    doc: 'how many HorizontalPodAutoscalers are evaluated concurrently (default 5)',
    read: count('concurrentHorizontalPodAutoscalerSyncs'),
  },
  {
    name: 'node-monitor-grace-period',
    takes: 'DURATION',
    doc: 'how long a kubelet may send no heartbeat before its node is unhealthy (default 50s)',
    read: duration('nodeMonitorGraceMs'),
  },
  {
    name: 'node-startup-grace-period',
    takes: 'DURATION',
    doc: 'as --node-monitor-grace-period, for a kubelet that has not sent a heartbeat yet (default 1m)',
    read: duration('nodeStartupGraceMs'),
  },
  {
    name: 'default-not-ready-toleration-seconds',
    takes: 'N',
    doc: 'default tolerationSeconds of pods for nodes that are not ready (default 300)',
    read: count('defaultNotReadyTolerationSeconds'),
  },
  {
    name: 'default-unreachable-toleration-seconds',
    takes: 'N',
    doc: 'default tolerationSeconds of pods for nodes that are unreachable (default 300)',
    read: count('defaultUnreachableTolerationSeconds'),
  },
  {
    name: 'service-cluster-ip-range',
    takes: 'CIDR[,CIDR]',
    doc: 'range of cluster IPs, at most one of each family (default 10.0.0.0/24)',
    read: last('serviceClusterIpRange', value => (value === '' ? DEFAULTS.serviceClusterIpRange : items([value]))),
  },
  {
    name: 'service-node-port-range',
    takes: 'FROM-TO',
    doc: 'range of node ports, both ends included (default 30000-32767)',
    read: last('serviceNodePortRange', readPortRange),
  },
  {
    name: 'shutdown-delay-duration',
    takes: 'DURATION',
    doc: 'how long a server continues to serve, unready, after SIGTERM, so that load balancers notice (default 0s)',
    read: duration('shutdownDelayMs'),
  },
  {
    name: 'history-window',
    takes: 'DURATION',
    doc: 'how far back watches can start, pages can be continued and earlier states can be read, such as 90s or 1h30m (default 30m, with --store etcd 8m, and 8m for pages)',
    read: duration('historyMs'),
  },
  {
    name: 'quota-backend-bytes',
    takes: 'BYTES',
    doc: 'how much the store may use before it accepts only deletions; negative for no limit (default 0: a quarter of the available memory)',
    read: last('quotaBackendBytes', readQuota),
  },
  {
    name: 'bookmark-interval',
    takes: 'DURATION',
    doc: 'how often watches that allow bookmarks get one (default 30s)',
    read: duration('bookmarkMs'),
  },
  {
    name: 'tracing-config-file',
    takes: 'FILE',
    doc: 'TracingConfiguration: the collector that traces of requests are sent to, and how many; see docs/tracing.md (default: none)',
    read: name('tracingConfigFile'),
  },
  {
    name: 'console',
    takes: 'BOOL',
    doc: 'serve the console, a user interface for browsers, at /console/; keelson console opens it (default true for serve, false for run)',
    isSwitch: true,
    read: bool('console'),
  },
  {
    name: 'profiling',
    takes: 'BOOL',
    doc: 'let administrators get profiles of processor time and of the heap, at /keelson/profile (default false)',
    isSwitch: true,
    read: bool('profiling'),
  },
  {
    name: 'enable-fault-injection',
    takes: 'BOOL',
    doc: 'let administrators make requests fail, for tests: /keelson/faults, see docs/testing-controllers.md (default false)',
    isSwitch: true,
    read: bool('enableFaultInjection'),
  },
  {
    name: 'test-endpoints',
    takes: 'BOOL',
    doc: 'let administrators save, restore and reset the state and set the clock over HTTP, for tests: /keelson/v1/, see docs/testing-controllers.md; not with etcd (default false; true for keelson run)',
    isSwitch: true,
    read: bool('testEndpoints'),
  },
  {
    name: 'workspaces',
    takes: 'BOOL',
    isSwitch: true,
    doc: 'let administrators make isolated API servers at /workspaces/NAME, in memory: /keelson/v1/workspaces, see docs/workspaces.md; not with etcd or several processes (default false)',
    read: bool('workspaces'),
  },
  {
    name: 'max-requests-inflight',
    takes: 'N',
    doc: 'together with --max-mutating-requests-inflight: the seats that priority levels share; both 0 for no limit (default 400)',
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
  {
    name: 'logging-format',
    takes: 'FORMAT',
    doc: 'json or text (default: text on a terminal, json elsewhere)',
    read: oneOf('loggingFormat', ['json', 'text']),
  },
]

/** Flags of the commands `serve` and `run`, not of the server. */
const COMMAND_FLAGS: readonly Flag[] = [
  {
    name: 'processes',
    takes: 'N|auto',
    doc: `number of processes that serve together, ${MAX_PROCESSES} at most; auto is one per core (default 1)`,
    read: last('processes', readProcesses),
  },
  {
    name: 'apply',
    takes: 'PATH,…',
    doc: 'manifests to apply at the start: YAML or JSON files, or folders of them',
    read: list('apply'),
  },
  {
    name: 'output',
    takes: 'text|json',
    doc: 'output of serve when it is ready; json is one line with url, kubeconfig, ca and pid',
    read: oneOf('output', ['text', 'json']),
  },
  {
    name: 'exit-with-parent',
    takes: '[true|false]',
    doc: 'exit when the parent process has exited',
    isSwitch: true,
    read: bool('exitWithParent'),
  },
]

/** All flags of `serve` and `run`. */
export const FLAGS: readonly Flag[] = [...SERVER_FLAGS, ...AUDIT_FLAGS, ...COMMAND_FLAGS]

/** A setting of the OpenID provider; an empty value keeps the default. */
function oidcSetting(key: keyof Config['oidc']): ReadFlag {
  return (values, draft) => {
    const value = values.at(-1)!
    if (value !== '') draft.oidc = { ...draft.oidc, [key]: value }
  }
}

type SigningFile = Extract<keyof Config, `clusterSigning${string}File`>

/** The two files of a signing authority: certificate and key. */
function signingFiles(signer: string, doc: string, { cert, key }: { cert: SigningFile; key: SigningFile }): readonly Flag[] {
  return [
    {
      name: `cluster-signing-${signer}cert-file`,
      takes: 'FILE',
      doc: `PEM of the CA ${doc}`,
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

/** 0 means the default, as in etcd. */
function readQuota(value: string, flag: string): Config['quotaBackendBytes'] {
  if (!/^-?\d{1,15}$/.test(value)) throw new ConfigError(`--${flag} takes a number of bytes, not "${value}"`)
  return Number(value) === 0 ? undefined : Number(value)
}

function readProcesses(value: string, flag: string): number {
  if (value === 'auto') return Math.min(availableParallelism(), MAX_PROCESSES)
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1 || Number(value) > MAX_PROCESSES)
    throw new ConfigError(`--${flag} takes a number of processes between 1 and ${MAX_PROCESSES}, or auto, not "${value}"`)
  return Number(value)
}

function readPortRange(value: string, flag: string): Config['serviceNodePortRange'] {
  const [, from = '', to = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []
  if (from === '') throw new ConfigError(`--${flag} takes two ports such as 30000-32767, not "${value}"`)
  return { from: Number(from), to: Number(to) }
}
