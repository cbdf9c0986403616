package signed

import "fmt"

// Tenant makes one tenant of ours, which a webhook.SecretFunc named, and the
// provider's, so that no two pairs look alike. The provider's alone stays as it
// is: operators type it.
func Tenant(ours, theirs string) string {
	if ours == "" {
		return theirs
	}
	return fmt.Sprintf("%d:%s:%s", len(ours), ours, theirs)
}
