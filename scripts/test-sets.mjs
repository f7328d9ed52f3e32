// Which test files `npm test` leaves to `npm run test:all`, and which need a process of their own, each with the reason. Every other test
// file below src/ and test/ is run by `npm test`, among others in one process.

/** Files that `npm test` leaves out, by the reason: they take long, or need more programs than most machines have. */
export const LEFT_OUT = {
  'drives a browser': [
    'test/console/actions.test.ts',
    'test/console/browser.test.ts',
    'test/console/every-page.test.ts',
    'test/console/large-lists.test.ts',
    'test/console/lists-and-objects.test.ts',
    'test/console/other-pages.test.ts',
    'test/console/requests.test.ts',
  ],
  'kills servers again and again': [
    'src/storage/embedded/crash.test.ts',
    'src/storage/etcd/failures.test.ts',
    'src/storage/processes/takeover.test.ts',
    'test/certificates-crash.test.ts',
    'test/crash.test.ts',
    'test/custom-kinds-crash.test.ts',
    'test/devices.test.ts',
    'test/doctor.test.ts',
    'test/etcd-backup.test.ts',
    'test/etcd-went-back.test.ts',
    'test/informers.test.ts',
    'test/inspect.test.ts',
    'test/local-processes-crash.test.ts',
    'test/migrate.test.ts',
    'test/processes.test.ts',
    'test/replicas-etcd.test.ts',
    'test/restart.test.ts',
    'test/robustness.test.ts',
    'test/security/damaged-store.test.ts',
    'test/security/full-disk.test.ts',
    'test/service-crash.test.ts',
    'test/simulation/simulation.test.ts',
    'test/snapshot.test.ts',
    'test/workloads.test.ts',
    'test/workloads/killed-job.test.ts',
  ],
  'packs, installs or builds': [
    'test/action.test.ts',
    'test/build.test.ts',
    'test/cel-package.test.ts',
    'test/clients.test.ts',
    'test/example-projects.test.ts',
    'test/executable.test.ts',
    'test/lock-file.test.ts',
    'test/node-versions.test.ts',
    'test/package.test.ts',
  ],
  'measures what requests cost': [
    'test/hostile/cost.test.ts',
    'test/hostile/floods.test.ts',
    'test/hostile/simulated-commands.test.ts',
    'test/security/long-texts.test.ts',
    'test/security/memory.test.ts',
  ],
  'repeats what other tests do once': [
    'src/devices/allocate.property.test.ts',
    'src/storage/embedded/encrypted.test.ts',
    'src/storage/embedded/faults.test.ts',
    'test/start-stop.test.ts',
    'test/workloads/random.test.ts',
  ],
  'runs a controller again and again': ['test/explore/command.test.ts', 'test/explore/explore.test.ts'],
  'starts a server for each configuration': ['test/testing.test.ts', 'test/tracing.test.ts', 'test/workspaces.test.ts'],
  'fills or rewrites a whole store': ['test/security/store-quota.test.ts', 'test/storage-migration.test.ts'],
  'waits for an etcd, or for several servers on one store': [
    'src/storage/etcd/etcd.test.ts',
    'test/encryption.test.ts',
    'test/replica-duties.test.ts',
    'test/replicas.test.ts',
  ],
  'runs kubectl or another program so often that its processor time is most of the test': [
    'test/admission/systems.test.ts',
    'test/ansible.test.ts',
    'test/controllers.test.ts',
    'test/custom-manifests.test.ts',
    'test/envtest.test.ts',
    'test/examples.test.ts',
    'test/helm.test.ts',
    'test/kubectl.test.ts',
    'test/manifests.test.ts',
    'test/readme.test.ts',
  ],
}

/** While one of these runs, no more files run than there are processors: they would make each other slower. */
export const MEASURING = LEFT_OUT['measures what requests cost']

/** Files that keep several processors busy at times. */
export const HEAVY = LEFT_OUT['drives a browser']

/** Files that take longest, the longest first: they begin early, since one that begins last keeps a single processor busy. */
export const LONG = [
  'test/processes.test.ts',
  'test/simulation/simulation.test.ts',
  'test/replicas-etcd.test.ts',
  'test/controllers.test.ts',
  'src/storage/etcd/failures.test.ts',
  'test/console/lists-and-objects.test.ts',
  'test/explore/explore.test.ts',
  'test/robustness.test.ts',
  'test/console/other-pages.test.ts',
  'test/security/damaged-store.test.ts',
  'test/crash.test.ts',
  'test/package.test.ts',
  'src/storage/etcd/etcd.test.ts',
  'test/migrate.test.ts',
  'test/snapshot.test.ts',
  'test/storage-migration.test.ts',
  'test/restart.test.ts',
  'test/workloads/random.test.ts',
  'src/lib/x509/verify.test.ts',
  'test/commands.test.ts',
  'test/recorded/recorded.test.ts',
  'src/storage/processes/process-store.test.ts',
  'src/cel/runtime/program.test.ts',
]

/** Files that need a process of their own, with the reason. */
export const ALONE = {
  'test/hostile/cost.test.ts': 'keeps half a gigabyte of bodies, which later files of the process would collect as garbage again and again',
  'test/security/memory.test.ts': 'measures memory, and collects garbage often: what others left in the process doubles its cost',
  'test/start-stop.test.ts': 'compares all handles of the process, and has its own folder for temporary files',
}
