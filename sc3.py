from sc2 import *
K=["drives/swing/effort","joints/hinge/position","joints/hinge/velocity"]
A=dict(method="dop853",rtol=1e-9,atol=1e-11)
for tag,law in {"scalar kink":{"position":"=0.3*max(0,t-0.4)+abs(sin(2*t))"},"scalar speed jump":{"velocity":"=where(t>0.7,1,0)"}}.items():
    def mk():
        d=base(law,**A); d["joints"]["socket"]["type"]="revolute"; d["joints"]["socket"]["axis"]=[1,2,.5]; return d
    both(tag,mk,K)
    def mk2():
        d=base({"position":{"axis":[1,2,.5],"angle":law["position"]}} if "position" in law else {"velocity":[f"=where(t>0.7,1,0)*{x}" for x in (np.array([1,2,.5])/np.linalg.norm([1,2,.5]))]},**A); return d
    both(tag+" ball",mk2,K)
