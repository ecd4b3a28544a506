from sc import *
FS=("recursive","minimal","descriptor")
def tryrun(tag,d):
    try: return run(d)
    except Exception as e: print(tag,type(e).__name__,str(e)[:300]); return None
def both(tag,mk,keys,atol=None):
    ref=None
    for cut in (False,True):
        for f in FS:
            d=mk(); d["analysis"]["formulation"]=f
            if cut: d["joints"]["socket"]["cut"]=True
            r=tryrun((tag,cut,f),d)
            if r is None: continue
            v=[np.array(r[k]) for k in keys]
            if ref is None: ref=v; print(tag,"ref",[x[-1] if x.size<300 else x.shape for x in v][:2], "bal", abs(np.array(r["energy/balance_error"])).max() if "energy/balance_error" in r.paths else None)
            else: print(tag,cut,f,[float(abs(a-b).max()) if a.shape==b.shape else (a.shape,b.shape) for a,b in zip(v,ref)], "bal",abs(np.array(r["energy/balance_error"])).max() if "energy/balance_error" in r.paths else None)
if __name__=="__main__":
    K=["drives/swing/effort","joints/hinge/position","joints/socket/reaction_moment","joints/socket/reaction_force","joints/socket/acceleration"]
    A=dict(method="dop853",rtol=1e-9,atol=1e-11)
    for tag,law in {"velocity":{"velocity":["=1+t",0.5,"=-2*sin(t)"]},"acceleration":{"acceleration":[1.0,"=t","=cos(3*t)"]},
      "kink":{"position":{"axis":[1,2,0.5],"angle":"=0.3*max(0,t-0.4)+abs(sin(2*t))"}},
      "kink in speed":{"velocity":["=max(0,t-0.3)","=where(t>0.7,1,0)",1.0]},
      "quat":{"position":{"quaternion":["=cos(t)","=sin(t)","=t",0.3]}}}.items():
        def mk():
            d=base(law,**A)
            if "velocity" in law or "acceleration" in law: d["joints"]["socket"]["initial"]={"position":{"axis":[1,0,0],"angle":2.8},"velocity":[0.1,0.2,0.3]}
            return d
        both(tag,mk,K)
    both("statics",lambda: base(type="statics",t_end=0.0) ,K[:2])
    both("statics turning",lambda: base({"position":{"axis":[0,0,1],"angle":"=3*t"}},type="statics",t_end=0.0) ,K[:2])
    both("linearize",lambda: base({"position":{"axis":[0,0,1],"angle":"=0.3+3*t"}},type="linearize",t_end=0.0) ,["linear/eigenvalues"])
    both("linearize rate",lambda: base({"velocity":[0,0,3]},type="linearize",t_end=0.0) ,["linear/eigenvalues"])
    both("assembly",lambda: base(type="assembly",t_end=0.0) ,["joints/socket/position"])
    def kin(): 
        d=base(type="kinematics"); d["drives"]["h"]={"joint":"hinge","position":"=0.3+sin(t)"}; return d
    both("kinematics",kin,K+["drives/h/effort"])
    both("idle kinematics",lambda: base(type="kinematics"),K)
