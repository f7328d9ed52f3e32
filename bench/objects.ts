/** The objects that benches write and read: of a usual size. */
const FILLER = 'The quick brown fox jumps over the lazy dog. '.repeat(20)

/** A ConfigMap of about 1 KiB as it is stored. */
export const configMap = (name: string, iteration = 0) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: 'bench', shard: `s${iteration % 10}` } },
    data: { text: FILLER.slice(0, 600), turn: String(iteration) },
  })

const container = (name: string, iteration: number) => ({
  name,
  image: `registry.example.com/team/${name}:1.${iteration}`,
  args: ['--listen=:8080', '--verbose', `--name=${name}`],
  ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
  env: Array.from({ length: 8 }, (_, i) => ({ name: `SETTING_${i}`, value: `value-${i}-${FILLER.slice(0, 40)}` })),
  resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
  readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 5 },
  volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
})

/** A Deployment of about 5 KiB. */
export const deployment = (name: string, iteration = 0) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: name, tier: 'backend' }, annotations: { note: FILLER.slice(0, 200) } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [container('main', iteration), container('sidecar', 1), container('proxy', 1)],
        volumes: [{ name: 'config', configMap: { name: 'config' } }],
      },
    },
  },
})
