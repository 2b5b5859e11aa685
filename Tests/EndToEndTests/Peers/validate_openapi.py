# Says "valid" when the document at the URL is valid OpenAPI 3.1, else what is wrong with it, and ends with 1.
import json
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

document = json.load(urllib.request.urlopen(sys.argv[1], timeout=10))
assert document["openapi"].startswith("3.1"), document["openapi"]
errors = list(OpenAPIV31SpecValidator(document).iter_errors())
for error in errors:
    print(error.json_path, error.message)
print("valid" if not errors else "invalid")
sys.exit(1 if errors else 0)
