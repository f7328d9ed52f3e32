// A controller with client-go: it makes a Secret for each ConfigMap with the label role=claim, and notes its name there. With the argument
// "fixed" the name of the Secret follows from that of the claim; without, it is generated anew for each attempt, which is the mistake.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

type controller struct {
	client  kubernetes.Interface
	claims  listers.ConfigMapLister
	queue   workqueue.TypedRateLimitingInterface[string]
	isFixed bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := kubernetes.NewForConfigOrDie(config)
	selected := informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "role=claim" })
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"), selected)
	informer := factory.Core().V1().ConfigMaps()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second)
	c := &controller{
		client:  client,
		claims:  informer.Lister(),
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
		isFixed: len(os.Args) > 1 && os.Args[1] == "fixed",
	}
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			c.queue.Add(key)
		}
	}
	informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	for c.next(ctx) {
	}
}

func (c *controller) next(ctx context.Context) bool {
	key, isOver := c.queue.Get()
	if isOver {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, key); err != nil {
		c.queue.AddRateLimited(key)
	} else {
		c.queue.Forget(key)
	}
	return true
}

func (c *controller) reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil
	}
	claim, err := c.claims.ConfigMaps(namespace).Get(name)
	if errors.IsNotFound(err) {
		return nil
	}
	if err != nil || claim.Annotations["secret"] != "" {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	if c.isFixed {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-secret"}}
	}
	made, err := c.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		made, err = secret, nil
	}
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"secret":%q}}}`, made.Name)
	_, err = c.client.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
