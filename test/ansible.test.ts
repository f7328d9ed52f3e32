// Ansible's k8s modules wait for workloads to be ready, scale, drain, roll back and remove them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ask, PATIENCE_MS, serveHere, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

const run = promisify(execFile)

const PLAYBOOK = `
- hosts: localhost
  gather_facts: false
  tasks:
    - name: a Deployment is ready when the task ends
      kubernetes.core.k8s:
        state: present
        wait: true
        wait_timeout: 60
        definition:
          apiVersion: apps/v1
          kind: Deployment
          metadata: { name: web, namespace: default }
          spec:
            replicas: 2
            selector: { matchLabels: { app: web } }
            template:
              metadata: { labels: { app: web } }
              spec: { containers: [{ name: web, image: "example.com/web:1" }] }
      register: made
    - ansible.builtin.assert: { that: made.result.status.availableReplicas == 2 }
    - name: a second time nothing changes
      kubernetes.core.k8s:
        state: present
        definition: { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: default }, spec: { replicas: 2 } }
      register: again
    - ansible.builtin.assert: { that: not again.changed }
    - name: scaled
      kubernetes.core.k8s_scale: { api_version: apps/v1, kind: Deployment, name: web, namespace: default, replicas: 3, wait: true, wait_timeout: 60 }
    - name: a Job has completed
      kubernetes.core.k8s:
        state: present
        wait: true
        wait_timeout: 60
        wait_condition: { type: Complete, status: "True" }
        definition:
          apiVersion: batch/v1
          kind: Job
          metadata: { name: once, namespace: default }
          spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "example.com/job:1" }] } } }
    - name: removed
      kubernetes.core.k8s: { state: absent, wait: true, wait_timeout: 60, api_version: apps/v1, kind: Deployment, name: web, namespace: default }
`

testWith('ansible-playbook', 'Ansible waits for what it makes, scales and removes', { timeout: 2 * PATIENCE_MS }, async (t, ansible) => {
  const server = await serveHere(t, { flags: ['--nodes=1'] })
  const home = temporaryDirectory(t)
  const file = join(home, 'playbook.yaml')
  writeFileSync(file, PLAYBOOK)
  const env = {
    ...process.env,
    HOME: home,
    K8S_AUTH_KUBECONFIG: server.kubeconfig,
    ANSIBLE_LOCALHOST_WARNING: 'False',
    ANSIBLE_NOCOLOR: '1',
  }
  const { stdout } = await run(ansible, ['-i', 'localhost,', '-c', 'local', file], { env }).catch(error => {
    throw new Error(`${error.stdout}\n${error.stderr}`)
  })
  assert.match(stdout, /failed=0/)
  assert.equal((await ask(server, '/apis/apps/v1/namespaces/default/deployments/web')).status, 404)
})
